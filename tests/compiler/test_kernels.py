"""The same source interpreted, compiled and compiled with bounds checks gives the same numbers; only content and types recompile."""

from __future__ import annotations

import copy
import importlib
import itertools
import math
import pickle
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import airoas
from airoas.compiler import specialise
from airoas.compiler.cache import spelled
from airoas.compiler.kernels import current_mode, interpreted, kernel, running
from airoas.errors import CompileError, ModelError, OptionError
from airoas.planners import POMCP

MODES = ("interpreted", "compiled", "debug")


@kernel
def walk(model, states, observations, numbers, rng):
    """A walk through every required method: states [T, size], observations [T, size], rewards and log densities [T, 2]."""
    s = model.initial(rng)
    for t in range(len(states)):
        a = model.rollout_action(s, rng)
        s, numbers[t, 0] = model.step(s, a, rng)
        o = model.observe(s, a, rng)
        numbers[t, 1] = model.obs_logpdf(o, s, a)
        model.write_state(states, t, s)
        model.write_observation(observations, t, o)
        s = model.initial(rng) if model.is_terminal(s) else model.read_state(states, t)


def walked(model: Any, steps: int = 40) -> np.ndarray:
    states, observations, numbers = (
        np.zeros((steps, size)) for size in (len(model.shapes.state.kinds), len(model.shapes.observation.kinds), 2)
    )
    walk(model, states, observations, numbers, airoas.stream(0, "walk"))
    return np.hstack((states, observations, numbers))


def same_in_every_mode(model: Any) -> np.ndarray:
    results = {}
    for mode in MODES:
        with running(mode):
            results[mode] = walked(model)
    assert results["interpreted"].tobytes() == results["compiled"].tobytes() == results["debug"].tobytes()
    return results["compiled"]


@kernel
def stepped(model, out, rng):
    s = model.initial(rng)
    for t in range(len(out)):
        s, out[t] = model.step(s, 0, rng)


def rewards(model: Any, steps: int = 3) -> list[float]:
    out = np.zeros(steps)
    stepped(model, out, airoas.stream(0))
    return out.tolist()


def rewards_in_every_mode(model: Any) -> list[float]:
    results = []
    for mode in MODES:
        with running(mode):
            results.append(rewards(model))
    assert results[0] == results[1] == results[2]
    return results[0]


class Counter(NamedTuple):
    n: int


def model_with(reward: Any, **fields: tuple[Any, Any]) -> Any:
    """A model class that counts steps, whose reward is `reward(self, s)`, with fields name=(annotation, default)."""

    def initial(self, rng):
        return Counter(0)

    def step(self, s, a, rng):
        return Counter(s.n + 1), reward(self, s)

    def observe(self, s, a, rng):
        return (s.n,)

    def obs_logpdf(self, o, s, a):
        return 0.0

    annotations = {name: kind for name, (kind, _) in fields.items()} | {"discount": float}
    plain = NamedTuple("Made", list(annotations.items()))  # type: ignore[misc]
    plain.__new__.__defaults__ = (*[default for _, default in fields.values()], 0.9)  # type: ignore[misc]
    for name, value in {"initial": initial, "step": step, "observe": observe, "obs_logpdf": obs_logpdf}.items():
        setattr(plain, name, value)
    plain.actions = lambda self: ("on",)
    return airoas.model(plain)


# --- what users write ---

HELPER = """
import math
import below

CONSTANT = 0.25
TABLE = (1.0, 2.0, 3.0)

def bend(x, by=0.5):
    return soften(x) * by + below.DEEP

def soften(x):
    return x / (1.0 + abs(x))

def depth(n):
    return 0 if n <= 0 else 1 + depth(n - 1)
"""
USER = """
import math
from math import atan2, tau
from typing import NamedTuple

import numpy as np

import airoas
import helper
from helper import soften
from helper import bend as bent

STEP = 0.5
OFFSETS = np.array([3, -1, 2], dtype=np.int8)
WALLS = ((0, 1), (2, 3))

class State(NamedTuple):
    x: float
    n: int
    lit: bool = False

class Seen(NamedTuple):
    x: float
    lit: bool

HOME = State(0, 0)

def clamp(x, low, high):
    return low if x < low else high if x > high else x

def make():
    drift = 0.125

    def wobble(x):
        return math.sin(x) * drift

    @airoas.model
    class Everything(NamedTuple):
        gain: float = 1.5
        count: int = 3
        on: bool = True
        weights: tuple = (0.5, 0.25, 0.125)
        limits: tuple = (-5, 5)
        home: State = HOME
        floor: np.ndarray = np.array([[1.0, 2.0], [3.0, 4.0]])
        order: np.ndarray = np.array([2, 0, 1], dtype=np.int32)
        open: np.ndarray = np.array([True, False, True])
        narrow: np.ndarray = np.array([250, 10], dtype=np.uint8)
        single: np.ndarray = np.array([0.1, 0.7], dtype=np.float32)
        name: str = "not seen by compiled code"
        discount: float = 0.9

        span = 2.0
        pair = (4, 5.0)
        origin = State(1, 2)
        grid = np.array([1, 2, 3], dtype=np.int16)

        def prepare(self):
            return {"half": self.gain / 2.0, "squares": [k * k for k in range(4)], "shift": np.float32(0.5)}

        def actions(self):
            return ("left", "stay", "right")

        @property
        def double(self):
            return self.gain * 2.0

        @property
        def reach(self):
            return self.double + self.span

        @staticmethod
        def mirrored(x, about=1.0):
            return 2.0 * about - x

        def noise(self, x, scale=1.0, least=0.01):
            return self.spread(x) * scale + least

        def spread(self, x):
            return abs(x) / self.reach

        def initial(self, rng):
            return State(rng.integer(3), 0)

        def step(self, s, a, rng):
            if s.n >= 12:
                return HOME, -1
            if a == 1 and self.on:
                return State(self.mirrored(s.x, about=0), s.n + 1, not s.lit), True
            x = s.x + (a - 1) * STEP + self.noise(s.x, least=0.5) * rng.normal()
            x += bent(x) + helper.bend(x, by=0.1) + soften(x) * helper.CONSTANT + wobble(x)
            x = clamp(x, self.limits[0], high=self.limits[1])
            return State(x, s.n + self.jump(s), x > 0.0), self.worth(s, x)

        def jump(self, s):
            total = 0
            for k in range(len(self.order)):
                total += self.order[k] * (self.open[k] + self.open[0])
            for low, high in WALLS:
                if low <= s.n <= high:
                    total += 1
            return 1 + total % 3

        def worth(self, s, x):
            measure = self.noise
            worth = measure(x, 2.0) + self.floor[s.n % 2, int(s.lit)] * self.weights[s.n % 3] + self.half * self.shift
            worth += self.narrow[0] + self.narrow[1] * 30 + self.single[0] * self.single[1] + self.squares[s.n % 4]
            worth += OFFSETS[s.n % 3] * 100 + self.grid[0] * 20000 + self.pair[1] + self.origin.x + self.home.x + HOME.n
            worth += helper.depth(s.n) + helper.TABLE[s.n % 3] + atan2(x, 1.0) / tau
            for w in self.weights:
                worth -= w
            return worth if math.isfinite(worth) else 0

        def observe(self, s, a, rng):
            if rng.uniform() < 0.25:
                return Seen(0, s.lit)
            return Seen(s.x + self.noise(s.x) * rng.normal(), False)

        def obs_logpdf(self, o, s, a):
            if o.x == 0.0:
                return math.log(0.25) if o.lit == s.lit else math.log(0)
            sd = self.noise(s.x)
            z = (o.x - s.x) / sd
            return -0.5 * z * z - math.log(sd) + math.log(0.75)

        def is_terminal(self, s):
            return s.n > 12

        def legal(self, s, a):
            return a != 1 or s.n % 2 == 0

    return Everything
"""


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of USER, in a folder with its helpers."""
    for name, source in {"everything": USER, "helper": HELPER, "below": "DEEP = 0.0625\n"}.items():
        (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("everything")
    for name in ("everything", "helper", "below"):
        sys.modules.pop(name, None)


def test_everything_users_write(user: Any) -> None:
    kind = user.make()
    rows = same_in_every_mode(kind())
    assert np.isfinite(rows[:, :4]).all() and len(np.unique(rows[:, 0])) > 10
    changed = same_in_every_mode(kind(gain=2, floor=[[0.0, 0.5], [1.0, 1.5]], home=user.State(7, 1)))
    assert not np.array_equal(rows, changed)


@airoas.model
class Steered(NamedTuple):
    """Continuous actions, plain tuples."""

    speed: float = 1.0
    discount: float = 0.9

    def sample_action(self, s, rng):
        return (rng.uniform(), 2 * rng.uniform() - 1)

    def initial(self, rng):
        return (0.0, 0)

    def step(self, s, a, rng):
        return (s[0] + self.speed * a[0] * math.cos(a[1]), s[1] + 1), -a[0] * a[0]

    def observe(self, s, a, rng):
        return (s[0] + 0.1 * rng.normal(),)

    def obs_logpdf(self, o, s, a):
        z = (o[0] - s[0]) / 0.1
        return -0.5 * z * z


def test_continuous_actions() -> None:
    same_in_every_mode(Steered(speed=0.5))


@kernel
def any_and_all(out, x, n):
    """Of lists, of tuples of one kind and of several, of none."""
    for k in range(len(out)):
        y = x + k
        few = [y > 0.0, n > k, y > 2.0]
        out[k, 0], out[k, 1] = any(few), all(few)
        out[k, 2], out[k, 3] = any((y > 0.0, n > k)), all((y > 0.0, n > k))
        out[k, 4], out[k, 5] = any((y, n > k, k)), all((y, n > k, k))
        out[k, 6], out[k, 7] = any(()), all(())
        gathered = [i == k for i in range(2)]
        out[k, 8], out[k, 9] = any(gathered), all(gathered)


def test_any_and_all_of_lists_and_tuples() -> None:
    told = {}
    for mode in MODES:
        with running(mode):
            any_and_all(out := np.full((5, 10), -1.0), -1.0, 3)
            told[mode] = out
    assert (told["interpreted"] == told["compiled"]).all() and (told["interpreted"] == told["debug"]).all()
    assert (np.ptp(told["compiled"], axis=0)[[0, 1, 2, 3, 4, 5, 8, 9]] == [0, 0, 0, 1, 0, 1, 1, 0]).all(), told["compiled"]


def test_a_jitted_function_of_the_users() -> None:
    @numba.njit
    def factorial(n):
        return 1 if n <= 1 else n * factorial(n - 1)

    assert rewards_in_every_mode(model_with(lambda self, s: factorial(s.n + 2))()) == [2.0, 6.0, 24.0]


def test_a_method_that_calls_itself_is_named() -> None:
    kind = model_with(lambda self, s: self.down(s.n))
    kind._user_class.down = lambda self, n: 0 if n == 0 else self.down(n - 1)
    with pytest.raises(CompileError, match=r"down .*line \d+.* calls itself"):
        rewards(kind())


@pytest.mark.parametrize(
    "expression", ["log(s.n - 1.0)", "sqrt(-1.0 - s.n)", "exp(1000.0 * (s.n + 1))", "pow(0.0, -1.0 - s.n)", "acos(2.0 + s.n)"]
)
def test_math_beyond_its_domain(expression: str) -> None:
    """-inf, nan and inf interpreted as compiled, by `math.f` and by `f`; Python itself would raise."""
    name = expression.partition("(")[0]
    scope: dict[str, Any] = {"math": math, name: getattr(math, name)}
    exec(f"def reward(self, s):\n    return math.{expression}\n", scope)
    exec(f"def other(self, s):\n    return {expression}\n", scope)
    results = [rewards_bytes(model_with(scope[f])()) for f in ("reward", "other")]
    assert results[0] == results[1]


def rewards_bytes(model: Any) -> bytes:
    results = set()
    for mode in ("interpreted", "compiled"):
        with running(mode):
            results.add(np.abs(np.array(rewards(model))).tobytes())  # the sign of a nan means nothing
    assert len(results) == 1
    return results.pop()


def test_bounds_are_checked_in_debug_only() -> None:
    model = model_with(lambda self, s: self.table[s.n + 2], table=(np.ndarray, np.arange(3.0)))()
    rewards(model)
    for mode, error in (("debug", IndexError), ("interpreted", IndexError)):
        with running(mode), pytest.raises(error):
            rewards(model)


def test_exceptions_of_methods_reach_the_caller() -> None:
    def reward(self, s):
        if s.n == 2:
            raise ValueError("two is too many")
        return 0.0

    for mode in MODES:
        with running(mode), pytest.raises(ValueError, match="two is too many"):
            rewards(model_with(reward)())


# --- several models in one process ---


def test_equal_names_different_fingerprint() -> None:
    def make(factor: float) -> Any:
        def scaled(x):
            return x * factor

        return model_with(lambda self, s: scaled(s.n + 1))

    first, second = make(2.0), make(3.0)
    assert rewards(first()) == [2.0, 4.0, 6.0]
    assert rewards(second()) == [3.0, 6.0, 9.0]
    assert rewards(first()) == [2.0, 4.0, 6.0]


def test_equal_fingerprints_are_compiled_once() -> None:
    def make() -> Any:
        return model_with(lambda self, s: s.n + 0.75)

    first, second = make()(), make()()
    assert type(first) is not type(second)
    assert rewards(first) == rewards(second)
    assert compiled_for(stepped, first) == compiled_for(stepped, second)


def test_two_records_of_equal_name_and_types() -> None:
    """A helper shared by states whose fields are in another order must read the right one."""

    def make(fields: list[tuple[str, Any]]) -> Any:
        record = NamedTuple("Point", fields)  # type: ignore[misc]
        kind = model_with(lambda self, s: height(s))
        kind._user_class.initial = lambda self, rng: record(1.0, 2.0)
        kind._user_class.step = lambda self, s, a, rng: (s, height(s))
        kind._user_class.observe = lambda self, s, a, rng: (height(s),)
        return kind

    upright, lying = make([("x", float), ("y", float)]), make([("y", float), ("x", float)])
    assert rewards_in_every_mode(upright()) == [2.0, 2.0, 2.0]
    assert rewards_in_every_mode(lying()) == [1.0, 1.0, 1.0]


def height(s):
    return s.y


def test_types_are_spelled_with_their_fields() -> None:
    first = NamedTuple("P", [("x", float), ("y", float)])(1.0, 2.0)  # type: ignore[misc, call-arg]
    second = NamedTuple("P", [("y", float), ("x", float)])(1.0, 2.0)  # type: ignore[misc, call-arg]
    assert str(numba.typeof(first)) == str(numba.typeof(second))
    assert spelled(numba.typeof(first)) != spelled(numba.typeof(second))
    assert spelled(numba.typeof((first, 1))) != spelled(numba.typeof((second, 1)))


def compiled_for(used: Any, model: Any) -> int:
    """In how many overloads of a kernel the first argument is of this model's class."""
    digest = used._seen(model, "compiled")._numba_type_.model.native_class.digest
    return sum(signature[0].model.native_class.digest == digest for signature in used._dispatcher("compiled").overloads)


def test_what_recompiles() -> None:
    kind = model_with(
        lambda self, s: self.gain + self.table[s.n % len(self.table)] + len(self.weights),
        gain=(float, 1.0),
        table=(np.ndarray, np.zeros(2)),
        weights=(tuple, (1.0, 2.0)),
    )
    assert rewards(kind()) == [3.0, 3.0, 3.0]
    for other in (
        kind(gain=2.5),
        kind(gain=2),
        kind(gain=np.float32(3.0)),
        kind(table=np.ones(7)),
        kind(weights=(3.0, 4.0)),
        kind(1, [0.0]),
    ):
        rewards(other)
    assert compiled_for(stepped, kind()) == 1
    assert rewards(kind(table=np.ones(7, np.float32))) == [4.0, 4.0, 4.0]
    assert compiled_for(stepped, kind()) == 1  # narrow floats are widened
    assert rewards(kind(weights=(1.0, 2.0, 3.0))) == [4.0, 4.0, 4.0]
    assert rewards(kind(table=np.array([5, 6]))) == [8.0, 9.0, 8.0]
    assert compiled_for(stepped, kind()) == 3  # the length of a tuple and the type of elements are types


def test_shapes_may_differ_between_instances() -> None:
    @airoas.model
    class Long(NamedTuple):
        size: int = 2
        discount: float = 0.9

        def actions(self):
            return ("on",)

        def initial(self, rng):
            return (0, 0) if self.size == 2 else (0, 0, 0)

        def step(self, s, a, rng):
            return s, len(s)

        def observe(self, s, a, rng):
            return (0.0,)

        def obs_logpdf(self, o, s, a):
            return 0.0

    with running("interpreted"):
        assert rewards(Long()) == [2.0, 2.0, 2.0]
        assert rewards(Long(3)) == [3.0, 3.0, 3.0]
    with pytest.raises(CompileError, match=r"Long\.initial"):  # size is a run-time number
        rewards(Long())


def test_state_length_from_a_tuple_field() -> None:
    @airoas.model
    class Rocks(NamedTuple):
        rocks: tuple = (1, 0)
        discount: float = 0.9

        def actions(self):
            return ("on",)

        def initial(self, rng):
            return self.rocks

        def step(self, s, a, rng):
            return s, s[len(s) - 1] + 10 * len(s)

        def observe(self, s, a, rng):
            return (s[0],)

        def obs_logpdf(self, o, s, a):
            return 0.0

    assert rewards_in_every_mode(Rocks()) == [20.0, 20.0, 20.0]
    assert rewards_in_every_mode(Rocks((0, 0, 1))) == [31.0, 31.0, 31.0]


def test_large_constants_work_without_cache() -> None:
    """An array above 1 MB is compiled in as an address, so the kernel must not be stored."""
    big = np.arange(200_000.0)
    assert rewards(model_with(lambda self, s: big[s.n + 1])()) == [1.0, 2.0, 3.0]


def test_what_has_no_fingerprint_compiles_and_is_not_cached() -> None:
    @numba.vectorize(["float64(float64)"])
    def plus(x):
        return x + 1.0

    model = model_with(lambda self, s: plus(1.0 * s.n))()
    assert not model.native().native_class.cacheable
    assert rewards(model) == [1.0, 2.0, 3.0]


# --- modes ---


def test_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    assert current_mode() == "compiled"
    with running("debug"):
        assert current_mode() == "debug"
        with running("interpreted"):
            assert current_mode() == "interpreted"
        assert current_mode() == "debug"
    of_environment = specialise._mode_of_environment
    try:
        for name in ("interpreted", "fast"):
            of_environment.cache_clear()
            monkeypatch.setenv("AIROAS_MODE", name)
            if name == "fast":
                with pytest.raises(OptionError, match="AIROAS_MODE is 'fast'"):
                    current_mode()
            else:
                assert current_mode() == name
    finally:
        monkeypatch.delenv("AIROAS_MODE")
        of_environment.cache_clear()
    with pytest.raises(OptionError, match="the mode is 'slow'"), running("slow"):
        pass
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert current_mode() == "interpreted"


def test_interpreted_methods_are_plain_python() -> None:
    """A breakpoint inside a method works: the frame of the user's own code is on the stack."""
    seen = []

    def reward(self, s):
        seen.append(sys._getframe().f_code.co_filename)
        return 0.0

    with running("interpreted"):
        rewards(model_with(reward)())
    assert set(seen) == {__file__}


def test_threads_specialise_and_compile_at_once() -> None:
    def helper(x):
        return x + 0.375

    model = model_with(lambda self, s: helper(s.n))()
    for mode in ("compiled", "interpreted"):
        result: list[list[float]] = []
        start = threading.Barrier(4)

        def work(result: list[list[float]] = result, start: threading.Barrier = start) -> None:
            start.wait()
            result.append(rewards(model))

        with running(mode):
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert result == [[0.375, 1.375, 2.375]] * 4


def test_a_failed_specialisation_leaves_nothing_behind() -> None:
    def reward(self, s):
        return WRONG.n

    for _ in range(2):
        with running("interpreted"), pytest.raises(ModelError, match="stands where an int belongs"):
            rewards(model_with(reward)())


WRONG = Counter(0.5)  # type: ignore[arg-type]


def test_prepare_compiles_ahead() -> None:
    model = model_with(lambda self, s: 0.8125)()
    stepped.prepare(model, np.zeros(1), airoas.stream(0))
    before = compiled_for(stepped, model)
    assert before == 1 and rewards(model) == [0.8125] * 3 and compiled_for(stepped, model) == before


def test_a_kernel_calls_a_kernel() -> None:
    @kernel
    def outer(model, out, rng):
        stepped(model, out, rng)
        out[0] += 100.0

    model = model_with(lambda self, s: s.n + 0.5)()
    for mode in MODES:
        out = np.zeros(2)
        with running(mode):
            outer(model, out, airoas.stream(0))
        assert out.tolist() == [100.5, 1.5], mode


def test_names_in_machine_code_are_unique() -> None:
    """By content, and by process: stored kernels bring the names of the process that compiled them."""

    def make(value: float) -> Any:
        return lambda x: x + value

    assert specialise.unique_name(make(1.0)) == specialise.unique_name(make(1.0)) != specialise.unique_name(make(2.0))
    opaque = make(object())  # type: ignore[arg-type]
    assert specialise.unique_name(opaque) != specialise.unique_name(opaque)


# --- models as values ---


def test_a_model_does_not_inherit() -> None:
    """Silently running the base's methods would be the alternative."""

    class Heir(Valued):
        def step(self, s, a, rng):
            return s, 5.0

    for mode in MODES:
        with running(mode), pytest.raises(ModelError, match="Heir: inherits from the model Valued"):
            rewards(Heir())


@pytest.mark.parametrize("name", ["row", "fingerprint", "shapes", "legal", "n_actions", "read_state", "prepare"])
def test_names_that_every_model_has_are_refused_as_fields(name: str) -> None:
    with pytest.raises(ModelError, match=f"has a `{name}`"):
        model_with(lambda self, s: 0.0, **{name: (float, 1.0)})


def test_names_of_hooks_and_max_steps_are_free_for_fields() -> None:
    kind = model_with(lambda self, s: self.state + self.max_steps, state=(float, 1.0), max_steps=(int, 7))
    assert rewards(kind()) == [8.0, 8.0, 8.0]


def test_integers_fit_64_bits() -> None:
    kind = model_with(lambda self, s: self.count, count=(int, 1))
    assert rewards(kind(2**40)) == [2.0**40] * 3
    with pytest.raises(OptionError, match="does not fit 64 bits"):
        rewards(kind(2**63))


@airoas.model
class Valued(NamedTuple):
    gain: float = 1.0
    table: np.ndarray = np.zeros(2)
    discount: float = 0.9

    def prepare(self):
        return {"double": self.table * 2.0}

    def actions(self):
        return ("on",)

    def initial(self, rng):
        return Counter(0)

    def step(self, s, a, rng):
        return Counter(s.n + 1), self.gain + self.double[0]

    def observe(self, s, a, rng):
        return (0,)

    def obs_logpdf(self, o, s, a):
        return 0.0


def test_equality_and_hash_by_fingerprint() -> None:
    assert Valued() == Valued(1, np.zeros(2), 0.9) == Valued(table=[0.0, 0.0])
    assert hash(Valued()) == hash(Valued(gain=1))
    different = [Valued(), Valued(2.0), Valued(table=np.ones(2)), Valued(table=np.zeros(3)), Valued(discount=0.8)]
    assert all(a != b for a, b in itertools.combinations(different, 2))
    assert len({*different, *different}) == len(different)
    assert Valued() != tuple(Valued()) and Valued() != "Valued"


def test_models_cannot_be_changed() -> None:
    model = Valued()
    with pytest.raises(OptionError, match=r"_replace\(gain"):
        model.gain = 2.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        model.table[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        model.double[0] = 1.0
    given = np.zeros(2)
    kept = Valued(table=given)
    given[0] = 5.0
    assert kept.table[0] == 0.0


@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy, lambda m: m._replace(gain=m.gain)])
def test_models_travel(again: Any) -> None:
    model = Valued(gain=3, table=np.array([1.0, 2.0]))
    other = again(model)
    assert type(other) is Valued and other == model and hash(other) == hash(model)
    assert other.double.tolist() == [2.0, 4.0]
    assert rewards(other) == [5.0, 5.0, 5.0]


def test_replace_prepares_again() -> None:
    model = Valued()._replace(gain=2, table=np.array([3.0, 0.0]))
    assert type(model) is Valued and isinstance(model.gain, float)
    assert rewards_in_every_mode(model) == [8.0, 8.0, 8.0]


def test_interpreted_model_is_the_model() -> None:
    model = Valued(gain=2)
    plain = interpreted(model)
    assert isinstance(plain, Valued) and plain.gain == 2.0 and plain.double.tolist() == [0.0, 0.0]
    assert plain.step(plain.initial(airoas.stream(0)), 0, airoas.stream(0)) == (Counter(1), 2.0)


def test_array_elements_interpreted() -> None:
    table = np.array([[True, True], [False, True]]).view(specialise.PlainElements)
    assert table[0, 0] + table[0, 1] == 2 and type(table[0, 0]) is bool
    assert [x + 0 for x in table[1]] == [0, 1]
    assert sum(x + y for x, y in table) == 3
    wide = specialise.widened(np.array([250], np.uint8))
    assert wide.dtype == np.int64 and not wide.flags.writeable


def test_digest_covers_the_class() -> None:
    """Methods, properties and constants that the hooks use; not what only Python uses."""

    def make(**changed: Any) -> str:
        kind = model_with(lambda self, s: self.double * self.span)
        for name, value in ({"double": property(lambda self: 2.0), "span": 3.0, "draw": lambda self, axis, s, b: None} | changed).items():
            setattr(kind._user_class, name, value)
        return kind().native().native_class.digest  # type: ignore[no-any-return]

    assert make() == make(draw=lambda self, axis, s, b: 1)
    assert len({make(), make(span=4.0), make(double=property(lambda self: 5.0)), make(legal=lambda self, s, a: s.n >= 0)}) == 4
    assert make() == make()


WITH_TEXT = """
from typing import NamedTuple

import airoas


@airoas.model
class Texted(NamedTuple):
    discount = "0.9"
    size: int = 3

    def actions(self):
        return ("on",)

    def initial(self, rng):
        return (rng.integer(self.size),)

    def step(self, s, a, rng):
        return s, 1.0

    def observe(self, s, a, rng):
        return s

    def obs_logpdf(self, o, s, a):
        return 0.0
"""


def test_no_message_shows_a_kernel_without_the_users_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong in a kernel of ours is told of the model, at its class; what goes wrong in a user's own, at its line."""
    (tmp_path / "texted.py").write_text(WITH_TEXT)
    monkeypatch.syspath_prepend(str(tmp_path))
    model = importlib.import_module("texted").Texted()
    monkeypatch.setattr("airoas.planners.visits.session.check_discount", lambda model: None)  # which would refuse it before
    with pytest.raises(CompileError) as error:
        POMCP(iterations=10).plan(model, airoas.Particles([[0.0]]), airoas.stream(0))
    assert error.value.where == f"Texted ({tmp_path / 'texted.py'}, line 8)"
    assert not {"kernel", "rollout"} & set(f"{error.value.problem} {error.value.remedy}".split())

    @kernel
    def mine(model, out):
        out[0] = model.nothing

    with pytest.raises(CompileError) as error:
        mine(model, np.zeros(1))
    line = mine.function.__code__.co_firstlineno + 2
    assert error.value.where == f"kernel mine ({__file__}, line {line}: `out[0] = model.nothing`)"
