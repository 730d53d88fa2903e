"""What goes into a run of an episode and what comes out of it: plain values that any process, machine or JSON file can take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NotRequired, TypedDict


class EpisodeSpec(TypedDict):
    """All that decides an episode; `id` is a digest of it."""

    id: str
    domain: str
    """A name of the catalog, file.py:Model or file.pomdp."""
    planner: str
    """A name of the catalog, or file.py:Planner."""
    options: dict[str, Any]
    filter: str
    """A name of a filter, or file.py:Filter."""
    particles: int
    max_steps: int | None
    seed: int
    map: int | None
    """Its number where maps are drawn."""
    clock: NotRequired[str]
    """What deadlines are kept by, where it is not the wall clock."""


class Extra(TypedDict, total=False):
    """How to run an episode; the row does not depend on it."""

    mode: str | None
    show: str | None
    """The id of an episode to keep as text."""


class Task(EpisodeSpec, Extra, total=False):
    """An episode to run."""

    replay: Row
    """The row to repeat."""


class SearchTotals(TypedDict):
    """`decisions` that were searched for, their `trials` in all, and for how many the time was up before the first (`unsearched`)."""

    decisions: int
    trials: int
    unsearched: int
    tied: NotRequired[int]
    """Decisions in which every action looked the same, and no policy led."""
    unopened: NotRequired[int]
    """Decisions in which some action was never simulated, no bound told that it need not be, and no policy led."""
    contradicted: NotRequired[int]
    """Decisions in which the search found values far above estimated upper bounds."""


class Times(TypedDict, total=False):
    """In seconds. The lists have a value for each move."""

    plan: list[float]
    overshoot: list[float]
    update: list[float]
    plan_mean: float
    plan_max: float
    overshoot_mean: float
    overshoot_max: float
    update_mean: float
    preparation: float
    seconds: float
    """The whole episode."""
    started: str


_Return = TypedDict("_Return", {"return": float}, total=False)  # a keyword of Python's


class Outcome(_Return, total=False):
    """What came of an episode: how it went, or an `error`. Of the moves it has `actions` and, with `--full`, the lists below them."""

    times: Times
    error: str
    warnings: list[str]
    model: str | None
    """A digest."""
    used_filter: str
    discounted_return: float
    steps: int
    terminated: bool
    success: bool
    wrong_stop: bool
    recoveries: int
    lost: int
    """How often the belief was found to be lost."""
    promised: float
    """What the first decision thought that the episode was worth, where it had an idea."""
    notes: dict[str, Any]
    search: SearchTotals
    adjusted: float
    """The return by the control variate."""
    actions: list[Any]
    rewards: list[float]
    lower: list[float | None]
    upper: list[float | None]
    stops: list[str]
    trials: list[int]
    nodes: list[int]
    depths: list[int]
    n_particles: list[int]
    """Of the belief."""
    surprise: list[float]
    shown: str
    """The episode as text, where it was asked for; not kept."""


class Machine(TypedDict, total=False):
    """Where an episode ran: times mean nothing without it."""

    host: str
    cpu: str
    cores: int | None
    python: str
    numba: str
    numpy: str
    device: str
    """The GPU that made the decisions."""


class Row(EpisodeSpec, Outcome, total=False):
    """An episode that was run. Without `times` and `machine` it is the same on every run of a task whose budget is `iterations`."""

    version: str
    machine: Machine


def models_of(episodes: Iterable[tuple[str, Row]]) -> dict[tuple[str, int | None], set[str]]:
    """The digests of the models that episodes on some domains were finished with, by domain and map: one each, unless something is
    wrong."""
    known: dict[tuple[str, int | None], set[str]] = {}
    for domain, row in episodes:
        model = row.get("model")
        if model is not None and "error" not in row:
            known.setdefault((domain, row["map"]), set()).add(model)
    return known


def episode_spec(of: EpisodeSpec) -> EpisodeSpec:
    """What decides the episode of a task or row, and nothing else."""
    spec: EpisodeSpec = {
        "id": of["id"],
        "domain": of["domain"],
        "planner": of["planner"],
        "options": of["options"],
        "filter": of["filter"],
        "particles": of["particles"],
        "max_steps": of["max_steps"],
        "seed": of["seed"],
        "map": of["map"],
    }
    return {**spec, "clock": of["clock"]} if "clock" in of else spec
