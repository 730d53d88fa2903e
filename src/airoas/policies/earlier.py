"""The policy of a model as it was before an edit: where learning begins, and what it must not fall behind.

It is kept by where the class is written, by its parameters where they are not the defaults, and by the size of what was learned: a class
with other parameters is another problem, whose policy depends on no order in which the two are learned.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import numpy as np

from airoas.bounds.learned.forest import Forest
from airoas.bounds.store import keep, stored
from airoas.modelling.kernel_model import KernelModel


def keep_last(model: KernelModel, what: str, reads: int, forest: Forest) -> None:
    """Keep what was learned of a model for whatever becomes of it."""
    arrays = {name: getattr(forest, name) for name in Forest.__annotations__}
    keep(model, what, {"fingerprint": np.array(model.fingerprint), **arrays}, _class_fingerprint(model, reads, forest.values.shape[1]))


def find_last(model: KernelModel, what: str, reads: int, gives: int) -> Forest | None:
    """What was learned of the model before it was edited; None where nothing is kept that fits."""
    arrays = stored(model, what, _class_fingerprint(model, reads, gives))
    if arrays is None or str(arrays.pop("fingerprint", "")) in ("", model.fingerprint) or arrays.keys() != Forest.__annotations__.keys():
        return None
    forest = Forest(**{name: arrays[name] for name in Forest.__annotations__})
    return forest if is_whole(forest, reads, gives) else None


def is_whole(forest: Forest, reads: int, gives: int) -> bool:
    """Whether compiled code reads nothing beyond the ends of a forest."""
    nodes, branching = len(forest.cut), forest.child >= 0
    return (
        forest.values.shape == (nodes, gives)
        and all(part.shape == (nodes,) and part.dtype == np.int64 for part in (forest.first, forest.second, forest.child))
        and forest.cut.shape == (nodes,)
        and all(part.dtype == np.float64 for part in (forest.cut, forest.values))
        and forest.roots.ndim == 1
        and forest.roots.dtype == np.int64
        and bool(((forest.roots >= 0) & (forest.roots < nodes)).all())
        and bool((forest.child[branching] > np.flatnonzero(branching)).all() and (forest.child[branching] < nodes - 1).all())
        and bool(((forest.first >= 0) & (forest.first < reads) & (forest.second >= 0) & (forest.second <= reads)).all())
        and bool(np.isfinite(forest.cut).all() and np.isfinite(forest.values).all())
    )


def _class_fingerprint(model: KernelModel, reads: int, gives: int) -> str:
    kind: Any = type(model)
    defaults = {name: _spelled(value) for name, value in kind._field_defaults.items()}
    given = {name: _spelled(getattr(model, name)) for name in kind._fields}
    file = getattr(sys.modules.get(kind.__module__), "__file__", "")
    others = sorted((name, value) for name, value in given.items() if defaults.get(name) != value)
    return repr((file, kind.__module__, kind.__qualname__, others, reads, gives))


def _spelled(value: Any) -> str:
    return hashlib.sha256(value.tobytes()).hexdigest() if isinstance(value, np.ndarray) else repr(value)
