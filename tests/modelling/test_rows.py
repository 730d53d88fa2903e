"""The names of arrays (`airoas.modelling.rows`) are for people: no compiler reads them. Here they are held against the arrays that come."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np
import pytest

import airoas
from airoas.belief.ranking import rank
from airoas.catalog import find_domain
from airoas.compiler.fingerprint import plain
from airoas.compiler.native import Record
from airoas.planners import AIROAS, ARDESPOT, PBVI, POMCP, POMCPOW, QMDP, AdaOPS, FittedQ, Random

KINDS = {"Rows": ("f", 2), "Matrix": ("f", 2), "Weights": ("f", 1), "Reals": ("f", 1), "Mask": ("b", 1), "Indices": ("i", 1)}
WIDE = {"bounds": (-100.0, 100.0), "iterations": 2}


def fits(name: str, array: np.ndarray) -> bool:
    return name not in KINDS or KINDS[name] == (array.dtype.kind, array.ndim)


def functions() -> Iterator[FunctionType]:
    """Every function and method of the package, those behind kernels included."""
    for info in pkgutil.walk_packages(airoas.__path__, "airoas."):
        if not info.name.endswith(("__main__", "gymnasium")):
            module = importlib.import_module(info.name)
            classes = [value for value in vars(module).values() if inspect.isclass(value)]
            for value in [*vars(module).values(), *(item for cls in classes for item in vars(cls).values())]:
                if isinstance(plain(value), FunctionType):
                    yield plain(value)


DECLARED: dict[CodeType, dict[str, str]] = {function.__code__: function.__annotations__ for function in functions()}


def on_tiger(planner: Any) -> None:
    model = find_domain("tiger")(0)
    planner.plan(model, airoas.Particles.exact(model), airoas.stream(0))


def on_light_dark(planner: Any, name: str = "light-dark-2d") -> None:
    model = find_domain(name)(0)
    planner.plan(model, airoas.Particles.sample(model, 50, airoas.stream(0)), airoas.stream(0))


def updated(name: str, move: str) -> None:
    model, rng = find_domain(name)(0), airoas.stream(5)
    belief = airoas.Particles.sample(model, 100, airoas.stream(0))
    state, _ = model.step(model.initial(rng), 0, rng)
    observation = model.observe(state, 0, rng)
    airoas.anneal(model, belief, 0, observation, rng, target_inefficiency=1.01, move=move)
    airoas.update(model, belief, 0, observation, rng, "bootstrap")
    rank(model, belief, 0, observation, rng)


WORK: dict[str, Callable[[], None]] = {
    "airoas": lambda: on_tiger(AIROAS(iterations=2, learn_seconds=0.0)),
    "adaops": lambda: on_tiger(AdaOPS(iterations=2)),
    "ardespot": lambda: on_tiger(ARDESPOT(iterations=2, scenarios=10)),
    "pomcp": lambda: on_tiger(POMCP(iterations=20)),
    "pomcpow": lambda: on_tiger(POMCPOW(iterations=20)),
    "qmdp": lambda: on_tiger(QMDP()),
    "pbvi": lambda: on_tiger(PBVI()),
    "random": lambda: on_tiger(Random()),
    "fitted-q": lambda: on_tiger(FittedQ(learn_seconds=0.0)),
    "annealing leaves": lambda: on_light_dark(AIROAS(particles=10, policy="none", **WIDE)),
    "grid": lambda: on_light_dark(AdaOPS(min_particles=5, max_particles=20, **WIDE)),
    "voronoi cells": lambda: on_light_dark(POMCPOW(iterations=30, widening="voronoi"), "light-dark-2d-continuous"),
    "ancestors": lambda: updated("light-dark-2d", "ancestors"),
    "walk": lambda: updated("light-dark-2d", "walk"),
    "gibbs": lambda: updated("tag", "gibbs"),
}


@pytest.mark.parametrize("name", WORK)
def test_arrays_are_what_their_annotations_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    others, compared, make = set(), 0, Record.__init__

    def compare(where: str, declared: dict[str, str], values: dict[str, Any]) -> None:
        nonlocal compared
        for field, kind in declared.items():
            if isinstance(values.get(field), np.ndarray):
                compared += kind in KINDS
                if not fits(kind, values[field]):
                    others.add((where, field, kind, f"{values[field].dtype} {values[field].shape}"))

    def entered(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in DECLARED:
            compare(frame.f_code.co_qualname, DECLARED[frame.f_code], frame.f_locals)

    def created(self: Record, **fields: Any) -> None:
        make(self, **fields)
        compare(type(self).__name__, type(self).__annotations__, fields)

    monkeypatch.setattr(Record, "__init__", created)
    with airoas.running("interpreted"):
        sys.setprofile(entered)
        try:
            WORK[name]()
        finally:
            sys.setprofile(None)
    assert compared > 5
    assert not others
