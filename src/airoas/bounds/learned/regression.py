"""Values of states by a forest over their features: the numbers of a state; of flags, and of whole numbers that may be flags in disguise,
each bit; and how many flags are up, which counts most where many alike parts work or fail."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airoas.bounds.learned.forest import (
    TREES,
    Descent,
    Forest,
    child_of,
    descend,
    descent_of,
    find_leaves,
    first_of,
    grow,
    learn,
    second_of,
)
from airoas.bounds.sides import bind
from airoas.compiler import fingerprint
from airoas.compiler.kernels import Bound, Record, kernel
from airoas.compiler.lanes import lanes
from airoas.compiler.specialise import ON_DEVICE
from airoas.modelling.rows import Indices, Mask, Matrix, Rows
from airoas.rng import Rng

_MOST_BITS = 53
_WIDE = 256  # a whole number that takes so many values may be bits in disguise
_NUMBER, _COUNT = -1, -2  # in place of a bit: the number itself, and how many bits are up
_CHUNK = 1 << 15  # states whose features are in memory at once


def bits_of(values: np.ndarray, kind: str) -> int:
    """How many bits of a component count one by one, 0 for none; values: some that it takes."""
    most = int(values.max())
    if kind == "flags":
        return min(most.bit_length(), _MOST_BITS)
    return most.bit_length() if kind == "int" and values.min() >= 0 and _WIDE - 1 <= most < 1 << _MOST_BITS else 0


class Features(Record):
    """What is read of a state."""

    component: Indices
    """[F] of a state."""
    bit: Indices
    """[F] of that component, or what else of it."""


def features_of(states: Rows, kinds: tuple[str, ...]) -> Features:
    """Every feature that varies among states [n, .] of these kinds."""
    component, bit = list[int](), list[int]()
    for k, kind in enumerate(kinds):
        if len(states) and states[:, k].min() < states[:, k].max():
            bits = bits_of(states[:, k], kind)
            bit += [_COUNT if kind == "flags" else _NUMBER, *range(bits)]
            component += [k] * (1 + bits)
    return Features(component=np.array(component or [0]), bit=np.array(bit or [_NUMBER]))


def _feature(features: Features, states: Rows, i: int, k: int) -> float:
    number, bit = states[i, features.component[k]], features.bit[k]
    if bit == _NUMBER:
        return float(number)
    word = int(number)
    if bit >= 0:
        return float(word >> bit & 1)
    ones = 0
    while word > 0:
        ones += word & 1
        word >>= 1
    return float(ones)


@kernel
def _read(features: Features, states: Rows, out: Matrix) -> None:
    """out [n, F] of states."""
    for i in range(len(states)):
        for k in range(len(features.component)):
            out[i, k] = _feature(features, states, i, k)


def read(features: Features, states: Rows) -> np.ndarray:
    """[n, F] of states [n, .]."""
    rows = np.zeros((len(states), len(features.component)))
    _read(features, states, rows)
    return rows


@dataclass(frozen=True)
class Regression:
    """Features, and a forest that was grown on them."""

    features: Features
    forest: Forest

    def arrays(self, prefix: str = "") -> dict[str, np.ndarray]:
        """All of it, by name."""
        both = ((self.features, Features), (self.forest, Forest))
        return {prefix + name: getattr(part, name) for part, kind in both for name in kind.__annotations__}

    @staticmethod
    def of(arrays: dict[str, np.ndarray], prefix: str = "") -> Regression:
        """What `arrays` gave."""
        features, forest = ({name: arrays[prefix + name] for name in kind.__annotations__} for kind in (Features, Forest))
        return Regression(Features(**features), Forest(**forest))

    def lookup(self) -> Bound:
        """An `evaluate` that gives its values."""
        return bind(_look_up, ForestValues(features=self.features, forest=descent_of(self.forest)))

    def leaves(self, states: Rows) -> np.ndarray:
        """[n, TREES] where states [n, .] end in each tree."""
        leaves = np.zeros((len(states), TREES), np.int64)
        for begin in range(0, len(states), _CHUNK):
            some = slice(begin, begin + _CHUNK)
            find_leaves(self.forest, read(self.features, states[some]), leaves[some])
        return leaves

    def learn(self, leaves: np.ndarray, targets: np.ndarray) -> None:
        """Put the means of targets [n, width] into leaves [n, TREES]."""
        learn(self.forest, leaves, targets, np.zeros(len(self.forest.cut)))


def regress(states: Rows, kinds: tuple[str, ...], targets: np.ndarray, fewest: int, rng: Rng) -> Regression:
    """What splits states [n, .] by their targets [n, width], with so many at least in a leaf; its values are for `learn`."""
    features = features_of(states, kinds)
    return Regression(features, grow(read(features, states), targets, fewest, rng, _tries(features)))


def _tries(features: Features) -> np.ndarray:
    """Which features to split by, each as often as it is to be tried: the bits of a component together as often as a component."""
    most = int(features.bit.max()) + 1
    tries = [
        max(1, most // int((features.component == c).sum())) if bit >= 0 else max(1, most)
        for c, bit in zip(features.component, features.bit, strict=True)
    ]
    return np.repeat(np.arange(len(tries)), tries)


class ForestValues(Record):
    """A regression in the form in which many states are looked up at once."""

    features: Features
    forest: Descent


@kernel
def _look_up(known: ForestValues, states: Rows, alive: Mask, out: Matrix, at: int) -> None:
    features, forest = known.features, known.forest
    n, read, width = len(states), len(features.component), forest.values.shape[1]
    rows, nodes = np.zeros((n, read + 1)), np.zeros(n, np.int32)
    count = 0
    for i in range(n):
        if alive[i]:
            for k in range(read):
                rows[count, k] = _feature(features, states, i, k)
            for j in range(width):
                out[i, at + j] = 0.0
            count += 1
    for tree in range(len(forest.roots)):
        descend(forest, tree, rows, nodes, count)
        r = 0
        for i in range(n):
            if alive[i]:
                for j in range(width):
                    out[i, at + j] += forest.values[nodes[r], j]
                r += 1


def _descend(known: ForestValues, states: Rows, alive: Mask, out: Matrix, at: int) -> None:
    """The same, state by state, for a GPU: no room is needed there, and each thread looks up its own."""
    features, forest = known.features, known.forest
    read, width = len(features.component), forest.values.shape[1]
    for i in lanes(len(states)):
        if alive[i]:
            for j in range(width):
                out[i, at + j] = 0.0
            for tree in range(len(forest.roots)):
                node = forest.roots[tree]
                for _ in range(forest.levels[tree]):
                    links = forest.links[node]
                    second = _feature(features, states, i, second_of(links)) if second_of(links) < read else 0.0
                    beyond = _feature(features, states, i, first_of(links)) - second >= forest.cut[node]
                    node = child_of(links) + (1 if beyond else 0)
                for j in range(width):
                    out[i, at + j] += forest.values[node, j]


for _instead in ON_DEVICE.values():
    _instead[_look_up.function] = fingerprint.plain(_descend)
