"""One correction for many actions: what describes an action at a belief, and what is learned by it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import airoas
from airoas import stream
from airoas.bounds import store
from airoas.bounds.learned.forest import zero
from airoas.planners import FittedQ
from airoas.policies import learned
from airoas.policies.belief_mdp import choose_one
from airoas.policies.experience import most_beliefs, n_tried
from airoas.policies.pairs import n_options
from airoas.policies.qmdp import ALL, make_policy
from airoas.policies.runs import corrected_by, make_runs

BOXES, ASK, WALK = 20, 20, 21
LACK, REWARD, GOING, TOLD, GAIN, MEAN = range(6)


@airoas.model
class Boxes(NamedTuple):
    """A coin in one of twenty boxes: open the right one; who asks hears which it is, a walk changes where one stands, nothing is heard."""

    discount: float = 0.9
    max_steps: int = 10

    def actions(self):
        return (*(f"open {k}" for k in range(20)), "ask", "walk")

    def initial(self, rng):
        return BOXES * rng.uniform(), 0.0, 0

    def step(self, s, a, rng):
        if a < BOXES:
            return (s[0], s[1], 1), 10.0 if math.floor(s[0]) == a else -10.0
        return (s[0], s[1] + (0.25 if a == WALK else 0.0), 0), -0.5 if a == WALK else -1.0

    def observe(self, s, a, rng):
        return (s[0] + 0.2 * rng.normal() if a == ASK else rng.normal(),)

    def obs_logpdf(self, o, s, a):
        sd = 0.2 if a == ASK else 1.0
        z = (o[0] - (s[0] if a == ASK else 0.0)) / sd
        return -0.5 * z * z - math.log(sd) - 0.5 * math.log(2.0 * math.pi)

    def is_terminal(self, s):
        return s[2] > 0


MODEL = Boxes()


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(store, "folder", lambda: tmp_path)
    monkeypatch.setattr(learned, "_known", {})


def test_an_action_is_described_by_what_it_does() -> None:
    """One action tells all there is to tell of the particles that were scored, and more can be earned after it; nothing else tells."""
    policy = make_policy(MODEL)
    assert policy.shared and len(policy.actions) == 22 > ALL and n_tried(policy) < 22
    policy.scored = 40
    runs = make_runs(MODEL, policy, 1, 500)
    states = np.zeros((400, 3))
    states[:, 0] = (np.arange(400) + 0.5) / 20.0  # equally many in each box
    choose_one(policy, runs, states, np.full(400, 1 / 400), np.zeros(400, np.int64), 7)
    options, best = runs.options[0], runs.features[0, -2]
    assert options.shape[1] == n_options(len(policy.components)) and corrected_by(policy)[1] == 1
    assert options[ASK, TOLD] == pytest.approx(math.log(40), abs=0.7)  # what is seen fits a neighbour, too
    assert np.abs(np.delete(options[:, TOLD], ASK)).max() < 1e-9
    assert options[ASK, GAIN] > 0.3 and np.delete(options[:, GAIN], ASK).max() < 1e-9
    assert np.abs(options[:, LACK] - (runs.q[0] - best)).max() < 1e-9
    assert options[:BOXES, REWARD] == pytest.approx(-10.0 + 20.0 / BOXES, abs=1.1) and options[ASK, REWARD] == -1.0
    assert (options[:BOXES, GOING] == 0.0).all() and (options[BOXES:, GOING] == 1.0).all()
    walked = next(k for k in range(len(policy.components)) if policy.components[k] == 1)
    assert (options[WALK, MEAN + walked], options[ASK, MEAN + walked]) == (0.25, 0.0)


def test_few_beliefs_teach_which_of_many_actions_tells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Half a box of doubt is left after being told, so that it pays twice at most: 0.9 * 10 - 1, less now and then. QMDP walks for ever.
    Correct code fails at four standard errors once in 10,000."""
    monkeypatch.setattr(learned, "ROUNDS", (500, 500))
    known = learned.learn(MODEL, 1e6)
    (mean, error), (qmdp, _) = known.returns["learned"], known.returns["qmdp"]
    assert known.policy == "learned" and mean > 7.0 - 4.0 * error and qmdp < 0.0
    learned.save(known, MODEL, tmp_path / "kept.npz")
    FittedQ().load(MODEL, tmp_path / "kept.npz")
    belief = airoas.Particles.sample(MODEL, 500, stream(3))
    assert FittedQ(learn_seconds=0.0).plan(MODEL, belief, stream(1)).action == ASK
    assert learned.learn(MODEL, 1e6).digest == known.digest


def test_what_is_learned_fits_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "ROUNDS", (200, 200, 200))
    monkeypatch.setattr("airoas.policies.experience._MOST_LATER", 22 * 8 * 450)
    assert most_beliefs(make_policy(MODEL)) == 450
    assert learned.learn(MODEL, 1e6).rounds == 2


def test_a_forest_for_each_action_is_refused_where_one_is_shared(tmp_path: Path) -> None:
    """What a file holds is looked at by what the model's correction looks at."""
    wide = learned.Learned(zero(22), 1, "x", "learned", returns={"learned": (1.0, 0.1)})
    learned.save(wide, MODEL, tmp_path / "wide.npz")
    with pytest.raises(airoas.OptionError, match="is damaged, or was learned for another model"):
        FittedQ().load(MODEL, tmp_path / "wide.npz")
