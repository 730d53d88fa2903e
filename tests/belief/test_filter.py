"""`update`: Bayes on Tiger by hand, terminal particles, rescue from depletion, and the exact filter."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import airoas
from airoas import Particles, update
from airoas.belief.filters.update import choose_method
from airoas.domains import LightDark, RockSample, Tag, Tiger
from airoas.domains.rock_sample import standard

LISTEN = 0


def test_exact_filter_on_tiger_is_bayes():
    model, belief = Tiger(), Particles.exact(Tiger())
    left = model.observe(model.state(0), LISTEN, airoas.stream(0))
    heard = type(left)(0)
    for count in (1, 2, 3):
        belief = update(model, belief, LISTEN, heard, airoas.stream(0), "exact")
        odds = (0.85 / 0.15) ** count
        likely = belief.weights[[model.index(model.from_row("state", row)) == 0 for row in belief.states]].sum()
        assert likely == pytest.approx(odds / (1 + odds))


def test_bootstrap_carries_weights_until_it_resamples():
    model, rng = Tiger(), airoas.stream(3)
    belief = Particles.sample(model, 20_000, rng)
    heard = type(model.observe(model.state(0), LISTEN, rng))(0)
    for count in (1, 2):
        belief = update(model, belief, LISTEN, heard, rng, "bootstrap")
        odds = (0.85 / 0.15) ** count
        first = np.array([model.index(model.from_row("state", row)) == 0 for row in belief.states])
        assert belief.weights[first].sum() == pytest.approx(odds / (1 + odds), abs=0.02)  # 5 standard errors at most
    assert belief.ess >= len(belief) / 2


def test_terminal_particles_lose_their_weight():
    model = LightDark()
    belief = Particles([[0.0, 1.0], [3.0, 0.0]], weights=[0.9, 0.1])
    after = update(model, belief, 2, model.observe(model.from_row("state", np.array([4.0, 0.0])), 2, airoas.stream(0)), airoas.stream(0))
    assert (after.states[after.weights > 0.0, 0] == 4.0).all()


def test_a_depleted_filter_is_rescued_and_says_so():
    model = Tag()
    robot_elsewhere = Particles([[0.0, 20.0, 0.0]])
    seen = type(model.observe(model.from_row("state", np.array([5.0, 7.0, 0.0])), 0, airoas.stream(0)))(5)
    with pytest.warns(airoas.DepletionWarning, match="restarts"):
        belief = update(model, robot_elsewhere, 0, seen, airoas.stream(0))
    assert (belief.states[:, 0] == 5.0).all()


class Seen(NamedTuple):
    y: float


@airoas.model
class Strict(NamedTuple):
    """Observations exactly equal the state: a bootstrap filter cannot follow."""

    discount: float = 0.9

    def actions(self):
        return ("wait",)

    def initial(self, rng):
        return (rng.uniform(),)

    def step(self, s, a, rng):
        return (rng.uniform(),), 0.0

    def observe(self, s, a, rng):
        return Seen(s[0])

    def obs_logpdf(self, o, s, a):
        return 0.0 if o.y == s[0] else -math.inf


def test_a_filter_beyond_rescue_says_what_to_do():
    model = Strict()
    with pytest.raises(airoas.BeliefError, match="Use more particles"):
        update(model, Particles.sample(model, 10, airoas.stream(0)), 0, Seen(0.5), airoas.stream(1))


def test_exact_needs_a_model_that_offers_it():
    with pytest.raises(airoas.OptionError, match="exact_update"):
        update(Strict(), Particles([[0.5]]), 0, Seen(0.5), airoas.stream(0), "exact")


def test_impossible_observation_is_an_error_of_the_exact_filter():
    model = Tag()
    seen = type(model.observe(model.from_row("state", np.array([5.0, 7.0, 0.0])), 0, airoas.stream(0)))(5)
    with pytest.raises(airoas.BeliefError, match="no state explains"):
        update(model, Particles([[0.0, 20.0, 0.0]]), 0, seen, airoas.stream(0), "exact")


@pytest.mark.parametrize(
    ("action", "observation", "message"),
    [(7, (0,), "no action 7"), (0, (0, 1), "no observation"), (0, ("x",), "no observation")],
)
def test_bad_actions_and_observations_are_refused(action, observation, message):
    with pytest.raises(airoas.OptionError, match=message):
        update(Tiger(), Particles.exact(Tiger()), action, observation, airoas.stream(0))


def test_auto_is_exact_where_the_model_offers_it():
    assert choose_method(Tag(), "auto") == choose_method(LightDark(), "auto") == choose_method(standard(7, 8), "auto") == "exact"
    assert choose_method(Strict(), "auto") == "annealed"
    with pytest.raises(airoas.OptionError, match="no filter"):
        choose_method(Tiger(), "kalman")


def test_rock_sample_belief_enumerates_its_rocks():
    model = standard(7, 8)
    assert isinstance(model, RockSample)
    assert len(Particles.exact(model)) == 2**8
