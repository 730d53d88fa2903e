"""What is drawn at the start and never moves: it is known only as well as there are particles that have it right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from airoas.belief.distinct import is_whole
from airoas.belief.filters.exact import can_update
from airoas.checker.diagnostics import Diagnostic, Progress
from airoas.compiler.kernels import interpreted
from airoas.modelling.checked_call import guard
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel
from airoas.rng import Rng, stream

_DRAWS = 1000
_STEPS = 400
"""Of walks in which what moves shows."""
_PARTICLES = 200_000
"""Of a belief at the start, by default."""
_MOST_NAMES = 4
_WAYS = 20
"""In which a real number is drawn, as far as they are to be told apart."""
_EACH, _EACH_WHOLE = 100, 10
"""Particles for each arrangement; fewer do where equal states are merged, with their exact weights."""


def hidden(model: KernelModel, progress: Progress) -> Iterator[Diagnostic]:
    """A note where numbers that nothing moves are drawn in more arrangements than a belief of the default size has particles for."""
    if can_update(model):
        return
    progress("looking for what never moves")
    shape, plain, rng = model.shapes.state, interpreted(model), stream(0, "hidden")

    def rows(n: int) -> np.ndarray:
        return np.array([shape.to_row(plain.initial(rng)) for _ in range(n)])

    drawn = guard(model, "initial", lambda: rows(_DRAWS))
    whole = np.array([kind != "float" for kind in shape.kinds])
    still = (drawn != drawn[0]).any(axis=0) & ~guard(model, "step", lambda: _moved(model, plain, rng))
    if not still.any():
        return
    arrangements, is_more = _arrangements(drawn[:, still & whole])
    reals = int((still & ~whole).sum())
    arrangements *= _WAYS**reals
    if arrangements * (_EACH_WHOLE if is_whole(model) else _EACH) <= _PARTICLES:
        return
    names = [f"`{name}`" for name, is_still in zip(shape.names, still, strict=True) if is_still]
    told = f"{', '.join(names[:_MOST_NAMES])}{f' and {len(names) - _MOST_NAMES} more' if len(names) > _MOST_NAMES else ''}"
    many = f"{'more than' if is_more else 'about'} {float(f'{arrangements:.0e}'):,.0f}"
    by = f", reals told apart to 1/{_WAYS} of their range" if reals else ""
    problem = f"draws {told} in {many} ways{by}, and nothing moves that"
    problem += f": a belief of {_PARTICLES:,} particles may hold none like the true one"
    remedy = "where it is not seen soon give more, `--particles 100000` for ten times as many, and compare what is earned (docs/faq.md)."
    yield Diagnostic("note", location(model, "initial"), problem, remedy)


def _moved(model: KernelModel, plain: Any, rng: Rng) -> np.ndarray:
    """[K] which numbers of a state changed on walks of random actions, a new one from each end on."""
    shape, s = model.shapes.state, plain.initial(rng)
    before, moved = np.array(shape.to_row(s)), np.zeros(len(shape.kinds), np.bool_)
    for _ in range(_STEPS):
        if plain.is_terminal(s):
            s = plain.initial(rng)
            before = np.array(shape.to_row(s))
            continue
        legal = [a for a in range(model.n_actions) if plain.legal(s, a)]
        s = plain.step(s, legal[rng.integer(len(legal))] if legal else plain.rollout_action(s, rng), rng)[0]
        after = np.array(shape.to_row(s))
        moved |= after != before
        before = after
    return moved


def _arrangements(rows: np.ndarray) -> tuple[float, bool]:
    """In how many ways numbers are drawn, if all were as likely, by how many pairs of draws are equal; whether it may be more."""
    counts = np.unique(rows, axis=0, return_counts=True)[1]
    pairs, equal = len(rows) * (len(rows) - 1) / 2, float((counts * (counts - 1) / 2).sum())
    return pairs / max(equal, 1.0), equal <= 1.0
