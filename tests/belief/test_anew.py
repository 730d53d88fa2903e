"""Beliefs that are drawn anew where no particle is left: of what never moves, as a code that is guessed."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

import airoas
from airoas.belief.filters.anew import Followed
from airoas.belief.filters.particle import AdaptiveFilter
from airoas.errors import ParticleDeprivationError

DIGITS = 5


@airoas.model
class Code(NamedTuple):
    """A number of five digits; asking for a place tells whether the digit there is at most four, and in the second round which it is."""

    discount: float = 0.95

    def actions(self):
        return tuple(f"{what} {k}" for what in ("half", "digit") for k in range(DIGITS))

    def initial(self, rng):
        return (rng.integer(100_000),)

    def step(self, s, a, rng):
        return s, 0.0

    def told(self, s, a):
        digit = (s[0] // 10 ** (a % DIGITS)) % 10
        return digit // 5 if a < DIGITS else digit

    def observe(self, s, a, rng):
        return (self.told(s, a),)

    def obs_logpdf(self, o, s, a):
        return 0.0 if o[0] == self.told(s, a) else -math.inf


def after_all(model: airoas.Model, code: int, particles: int, actions: range) -> tuple[airoas.Particles, list[str]]:
    """The belief after these questions about a code, and what was told of recoveries."""
    own, rng = AdaptiveFilter(particles), airoas.stream(code, "code")
    belief, told = own.start(model, rng), []
    for a in actions:
        updated = own.update(model, belief, a, model.observe((code,), a, rng), rng)
        belief, told = updated.belief, [*told, *filter(None, [updated.recovery])]
        assert isinstance(belief, Followed)
    return belief, told


@pytest.mark.parametrize("code", [31415, 27182, 99999])
def test_a_code_that_was_never_drawn_is_found(code: int) -> None:
    """2,000 draws of 100,000 codes: hardly one explains all ten answers, and one code does."""
    belief, told = after_all(Code(), code, 100, range(2 * DIGITS))
    assert len(told) >= 1
    assert "new draws of the initial belief" in told[0]
    np.testing.assert_array_equal(np.unique(belief.states), [code])


def test_what_is_drawn_anew_is_the_posterior() -> None:
    """Where 500 codes are left, those that new draws find are some of them, alike likely, and as many as are asked for."""
    model, actions = Code(), [5, 6, 0, 1, 2, 3, 4][:2]
    own, rng = AdaptiveFilter(100), airoas.stream(3)
    belief = own.start(model, rng)
    for a in actions:
        belief = own.update(model, belief, a, (7,), rng).belief
    none = Followed.through(airoas.Particles([[12345.0]])._of(model), belief, 0, (1,))  # explains nothing of what follows
    assert isinstance(none, Followed)
    updated = own.update(model, none, 7, (7,), rng)
    assert "new draws" in updated.recovery
    codes = np.unique(updated.belief.states).astype(int)
    assert len(codes) >= 10
    assert all(code % 1000 == 777 for code in codes)
    assert updated.log_evidence == pytest.approx(math.log(0.1), abs=0.5)  # a digit, of which nothing else tells


def test_a_belief_given_by_hand_is_not_drawn_anew() -> None:
    """What it has been through is not known."""
    model, rng = Code(), airoas.stream(0)
    with pytest.raises(ParticleDeprivationError):
        AdaptiveFilter(100).update(model, airoas.Particles([[11111.0], [22222.0]]), 5, (9,), rng)


def test_what_cannot_be_ends_in_the_error() -> None:
    """An answer that no code gives, after others that some give."""
    model, own, rng = Code(), AdaptiveFilter(50), airoas.stream(0)
    belief = own.update(model, own.start(model, rng), 5, (3,), rng).belief
    with pytest.raises(ParticleDeprivationError):
        own.update(model, belief, 5, (4,), rng)
