"""Draws and densities of the check, compiled: those of plain Python to the last bit, and nothing where something is wrong."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest

import airoas
from airoas import stream
from airoas.catalog import find_domain
from airoas.checker import flat
from airoas.checker.compiled_draws import SLOW, arrivals, is_slow, log_likelihoods, observations
from airoas.compiler.kernels import interpreted

SEED, N = 12345, 50


def drawn(part: int, draw: Any) -> list[Any]:
    own, values = stream(0), []
    for i in range(N):
        own.reseed(SEED, part, i)
        values.append(draw(own))
    return values


@pytest.mark.parametrize("name", ["laser-tag", "building", "light-dark-1.0"])
def test_they_are_those_of_plain_python(name: str) -> None:
    model = find_domain(name)(0)
    plain, shapes = interpreted(model), model.shapes
    s = plain.initial(stream(1))
    seen = drawn(1, lambda own: flat.flatten(shapes.observation, plain.observe(s, 0, own)))
    compiled = observations(model, s, 0, SEED, N)
    assert compiled == seen and {type(x) for x in compiled} == {type(x) for x in seen}
    assert log_likelihoods(model, s, 0, seen) == [plain.obs_logpdf(flat.unflatten(shapes.observation, o), s, 0) for o in seen]
    assert arrivals(model, s, 0, SEED, N) == drawn(0, lambda own: flat.flatten(shapes.state, plain.step(s, 0, own)[0]))


@airoas.model
class Beyond(NamedTuple):
    """Reads beyond the end of a table where an observation is large."""

    discount: float = 0.9

    def actions(self):
        return ("wait",)

    def prepare(self):
        import numpy as np

        return {"table": np.array([0.25, 0.75])}

    def initial(self, rng):
        return (rng.integer(2),)

    def step(self, s, a, rng):
        return s, 0.0

    def observe(self, s, a, rng):
        return (rng.integer(2),)

    def obs_logpdf(self, o, s, a):
        return math.log(self.table[o[0]])


def test_what_goes_wrong_is_left_to_plain_python() -> None:
    model = Beyond()
    assert log_likelihoods(model, (0,), 0, [(0,), (1,)]) == [math.log(0.25), math.log(0.75)]
    assert log_likelihoods(model, (0,), 0, [(0,), (10**6,)]) is None


def test_a_call_is_slow_by_its_own_time() -> None:
    assert not is_slow(lambda: None)
    assert is_slow(lambda: sum(range(100_000)))
    assert SLOW < 1e-3
