"""Models as Gymnasium environments, and planners as policies over them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import airoas
from airoas.catalog import DOMAINS, find_domain
from airoas.domains import LightDark2DContinuous, RockSample, Tag, Tiger
from airoas.errors import ModelError, OptionError
from airoas.interop.gymnasium import Environment, Policy
from airoas.planners import Random

TIGER_FILE = str(Path(__file__).parent / "files" / "tiger.pomdp")


def played(environment, act, seed=None):
    """(observation, reward, state) of each step of an episode, and how it ended."""
    observation, _ = environment.reset(seed=seed)
    steps = []
    while True:
        observation, reward, terminated, truncated, info = environment.step(act(observation))
        steps.append((tuple(observation), reward, info["state"]))
        if terminated or truncated:
            return steps, (terminated, truncated)


@pytest.mark.filterwarnings("ignore:.*Box (observation|action) space m:UserWarning")  # no model states bounds of what is seen
@pytest.mark.filterwarnings("ignore:.*normalized space:UserWarning")
@pytest.mark.filterwarnings("ignore:.*not having a spec:UserWarning")
@pytest.mark.parametrize("name", [*DOMAINS, TIGER_FILE])
def test_gymnasiums_own_checker_passes(name: str) -> None:
    check_env(Environment(find_domain(name)(0), render_mode="ansi"))


@pytest.mark.parametrize("model", [Tiger(), LightDark2DContinuous()], ids=["tiger", "light-dark-2d-continuous"])
@pytest.mark.parametrize("seed", [0, 5])
def test_environment_and_policy_play_the_episode_of_simulate(model, seed: int) -> None:
    options = {"filter": "exact" if model.is_finite else "bootstrap", "particles": 200}
    episode = airoas.simulate(model, Random(), seed=seed, **options)
    policy = Policy(model, Random(), seed=seed, **options)
    steps, end = played(Environment(model), policy, seed)
    nothing = (0.0,) * model.shapes.observation.size  # at the end, as at the start
    assert steps == [(tuple(map(float, step.observation or nothing)), step.reward, step.state) for step in episode.trace]
    assert end == (episode.terminated, not episode.terminated)
    assert policy.decision is not None and policy.agent.act().action == policy.decision.action


def test_seeds() -> None:
    first, second = Environment(Tiger()), Environment(Tiger())

    def listen(observation):
        return 0

    assert played(first, listen, seed=3) == played(second, listen, seed=3)
    again, other = played(first, listen), played(first, listen)
    assert again != other, "an episode without a seed is a new one"
    assert played(second, listen) == again, "but follows from the seed before"


def test_policy_seeds_follow_each_other() -> None:
    model = Tiger()
    policy = Policy(model, Random(), seed=7)
    policy.reset()
    assert policy.agent.seed == 7, "nothing was decided yet"
    ours = []
    for _ in range(2):
        ours.append(played(Environment(model, max_steps=5), policy, policy.agent.seed)[0])
        policy.reset()
    assert policy.agent.seed == 9
    for seed, steps in zip((7, 8), ours, strict=True):
        assert [step[1] for step in steps] == [step.reward for step in airoas.simulate(model, Random(), seed, max_steps=5).trace]


def test_spaces() -> None:
    discrete = Environment(Tiger())
    assert discrete.action_space == gymnasium.spaces.Discrete(3)
    assert discrete.observation_space.shape == (1,)
    continuous = Environment(LightDark2DContinuous())
    assert list(continuous.action_space) == ["heading", "stop", "stride"]
    assert continuous.action_space["stop"] == gymnasium.spaces.Discrete(2)
    continuous.reset(seed=0)
    continuous.step(continuous.action_space.sample())


def test_info_tells_the_state_the_discount_and_what_is_legal() -> None:
    model = find_domain("rock-sample-7-8")(0)
    environment = Environment(model)
    _, info = environment.reset(seed=0)
    assert type(info["state"]) is type(model.initial(airoas.stream(0)))
    assert info["discount"] == model.discount
    assert [bool(x) for x in info["action_mask"]] == [model.legal(info["state"], a) for a in range(model.n_actions)]
    environment.action_space.seed(0)
    assert all(info["action_mask"][environment.action_space.sample(info["action_mask"])] for _ in range(50))
    assert isinstance(model, RockSample) and "action_mask" not in Environment(Tiger()).reset(seed=0)[1]


def test_an_episode_is_truncated_and_then_over() -> None:
    environment = Environment(Tiger(), max_steps=2)
    with pytest.raises(OptionError, match="reset"):
        environment.step(0)
    environment.reset(seed=0)
    assert environment.step(0)[2:4] == (False, False)
    assert environment.step(0)[2:4] == (False, True)
    with pytest.raises(OptionError, match="reset"):
        environment.step(0)


def test_render() -> None:
    environment = Environment(Tiger(), render_mode="ansi")
    environment.reset(seed=0)
    assert "the tiger is behind" in str(environment.render())
    assert Environment(Tiger()).render() is None


def test_pictures() -> None:
    environment = Environment(Tag(), render_mode="rgb_array")
    environment.reset(seed=1)
    first = environment.render()
    assert first.dtype == np.uint8
    assert first.shape == (460, 700, 3)
    environment.reset(seed=2)
    assert (environment.render() != first).any()


@airoas.model
class Level(NamedTuple):
    """A level and a lamp are seen; the model says within what."""

    most: float = 2.0
    discount: float = 0.9

    def actions(self):
        return ("wait",)

    def initial(self, rng):
        return (0.5,)

    def step(self, s, a, rng):
        return s, 0.0

    def observe(self, s, a, rng):
        return s[0], 1

    def obs_logpdf(self, o, s, a):
        return 0.0

    def limits(self):
        return {"observation": ((0.5, 0), (self.most, 1))}


def test_limits_of_observations() -> None:
    space = Environment(Level()).observation_space
    assert (space.low.tolist(), space.high.tolist()) == ([0.0, 0.0], [2.0, 1.0])  # zeros stand where nothing is seen
    with pytest.raises(ModelError, match=r"Level\.limits.* the least and the largest, a number or 2 each"):
        Environment(Level(most=0.1))
    unknown = Environment(find_domain("light-dark-1.0")(0)).observation_space
    assert (unknown.low.tolist(), unknown.high.tolist()) == ([-np.inf], [np.inf])


def test_wrong_options() -> None:
    for wrong in ({"max_steps": 0}, {"render_mode": "human"}):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            Environment(Tiger(), **wrong)
    with pytest.raises(OptionError, match="particles"):
        Policy(Tiger(), Random(), 0, particles=0)
    with pytest.raises(OptionError, match="filter"):
        Policy(Tiger(), Random(), 0, filter="kalman")
    environment = Environment(Tiger())
    environment.reset(seed=0)
    with pytest.raises(OptionError, match="no action 3"):
        environment.step(3)


def test_without_gymnasium_the_remedy_is_told() -> None:
    code = "import sys; sys.modules['gymnasium'] = None\nimport airoas.interop\nimport airoas.interop.gymnasium"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("gymnasium is not installed. Run `pip install 'airoas[gym]'`.")
