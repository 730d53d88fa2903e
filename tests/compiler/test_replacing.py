"""`_replace` of states in methods: what it gives, interpreted and compiled, and what it says of a field that there is not."""

import re
from typing import NamedTuple

import numpy as np
import pytest

import airoas
from airoas import Flags, Vector
from airoas.checker.check import walk
from airoas.compiler.kernels import kernel, running
from airoas.modelling.compiled import method_problem
from airoas.modelling.interface import HOOKS
from airoas.rng import stream


class Pose(NamedTuple):
    x: float
    y: float


class Scene(NamedTuple):
    pose: Pose
    n: int
    heights: Vector[3]
    marks: Flags[60]
    map: Flags[2, 2]
    g: float


class Seen(NamedTuple):
    z: float


@airoas.model
class Replacing(NamedTuple):
    discount: float = 0.9

    def actions(self):
        return ("go", "set", "dig")

    def initial(self, rng):
        return Scene(Pose(rng.normal(), 0.0), 0, Vector[3](), Flags[60](), Flags[2, 2](), 1.0)

    def step(self, s, a, rng):
        if a == 0:
            return s._replace(pose=s.pose._replace(x=s.pose.x + 1), n=s.n + 1, map=True), 1.0
        if a == 1:
            t = s._replace(g=2, heights=[1.0, s.g, 3.0])  # an int for a float, a list for a Vector
            return t._replace(marks=False, n=True), t.heights[1] / 2 + t.g // 3
        heights = s.heights.copy()
        heights[1] += rng.normal()
        new = s._replace(g=s.g + 0.1, heights=heights, marks=s.marks.with_(rng.integer(60), not s.marks[0]))
        return new._replace(), float(sum(new.marks)) + sum(s.map)

    def observe(self, s, a, rng):
        return Seen(s.pose.x + s.heights[1])

    def obs_logpdf(self, o, s, a):
        z = o._replace(z=o.z - s.pose.x).z - s.heights[1]
        return -z * z


def walked(model):
    states, observations, numbers = np.zeros((200, model.shapes.state.size)), np.zeros((200, 1)), np.zeros((200, 2))
    walk(model, states, observations, numbers, stream(0))
    return np.hstack([states, observations, numbers])


def test_interpreted_is_compiled_to_the_last_bit():
    told = {}
    for mode in ("compiled", "debug", "interpreted"):
        with running(mode):
            told[mode] = walked(Replacing())
    assert np.array_equal(told["compiled"], told["interpreted"])
    assert np.array_equal(told["compiled"], told["debug"])
    assert len(np.unique(told["compiled"][:, 2])) > 3  # n goes up, and back to 1


@kernel
def three(model, out, rng):
    """A nested field, an array's, a number's; the others stay, and so does what was replaced."""
    s = model.initial(rng)
    new = s._replace(pose=s.pose._replace(y=5), heights=7, n=3)
    out[0], out[1], out[2] = new.pose.y, new.heights[2], new.n
    out[3], out[4], out[5] = s.pose.y, s.heights[2], new.pose.x - s.pose.x


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
def test_the_named_fields_are_new_and_the_others_stay(mode):
    out = np.full(6, -1.0)
    with running(mode):
        three(Replacing(), out, stream(0))
    assert out.tolist() == [5.0, 7.0, 3.0, 0.0, 0.0, 0.0]


@kernel
def chosen(model, out, rng):
    """Conditions among the values, while which the tuple waits: one within another, and none of them of the same type."""
    s = model.initial(rng)
    for i in range(len(out)):
        t = s._replace(g=1.0 if i > 1 else 0.5, marks=i > 0 and i < 3, n=i if i > 1 or s.g < 0.0 else 7)
        u = t._replace(pose=t.pose._replace(x=float(i) if i % 2 == 0 else 0.0, y=1.0) if t.marks[1] else s.pose._replace(x=-1.0))
        out[i] = u.g + 10.0 * sum(u.marks) + 1000.0 * u.n + 1e5 * u.pose.x + 1e6 * u.pose.y


def test_values_may_be_conditions():
    told = {}
    for mode in ("compiled", "debug", "interpreted"):
        told[mode] = np.zeros(4)
        with running(mode):
            chosen(Replacing(), told[mode], stream(0))
    assert told["compiled"].tolist() == told["debug"].tolist() == told["interpreted"].tolist()
    assert told["compiled"][:3].tolist() == [0.5 + 7e3 - 1e5, 0.5 + 600.0 + 7e3 + 1e6, 1.0 + 600.0 + 2e3 + 2e5 + 1e6]


WRONG = {
    "a field that there is not": (
        lambda self, s, a, rng: (s._replace(heihgts=0.0), 0.0),
        r"Scene has no field `heihgts`.*Did you mean `heights`",
    ),
    "a value without a name": (lambda self, s, a, rng: (s._replace(0.0), 0.0), r"`_replace` takes fields by name"),
    "a float for an int": (lambda self, s, a, rng: (s._replace(n=0.5), 0.0), r"a value of type float stands where an int belongs"),
    "too short an array": (lambda self, s, a, rng: (s._replace(heights=(1.0, 2.0)), 0.0), r"stands where Vector\[3\] belongs"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_replaced_is_said_with_its_line(case):
    step, message = WRONG[case]
    scope = {name: value for name, value in vars(Replacing._user_class).items() if name in HOOKS} | {"step": step}
    broken = airoas.model(type("Broken", (Replacing._user_class,), scope))()
    broken.__dict__["_shapes"] = Replacing().shapes
    with running("compiled"):
        problem = method_problem(broken, broken.native().view("compiled")._numba_type_.model, HOOKS["step"])
    assert isinstance(problem, airoas.CompileError)
    assert re.search(message, str(problem))
    assert f"{__file__}, line {step.__code__.co_firstlineno}" in str(problem)
