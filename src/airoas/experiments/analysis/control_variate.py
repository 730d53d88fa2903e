r"""Adjusted returns: a control variate takes out of an episode's return what dice decided, and leaves its mean.

Let b_t be the exact belief before step t, V any function of beliefs with V = 0 once an episode has ended, and

    Q(b, a) = E[r + discount V(b') | b, a].

The return is sum_t discount^t r_t. Adding and taking away discount^t V(b_t) at every step changes nothing:

    return = V(b_0) + sum_t discount^t (r_t + discount V(b_{t+1}) - V(b_t))  -  discount^T V(b_T),

where the last term is there only if the step limit T cut the episode. The adjusted return puts Q(b_t, a_t) in the place of
r_t + discount V(b_{t+1}):

    adjusted = V(b_0) + sum_t discount^t (Q(b_t, a_t) - V(b_t))  -  discount^T V(b_T).

What is left out, sum_t discount^t (r_t + discount V(b_{t+1}) - Q(b_t, a_t)), has mean 0 given all that was done and seen before
each step, because b_t is what that says of the state and the action depends on nothing else. So both have the same mean, for every
policy and every V. V decides how much noise goes: with the optimal V nothing is left but what the actions lost.

That is the advantage sum of Zinkevich et al. (2006), as in DIVAT (Billings and Kan 2006); V is learned in MIVAT (White and Bowling
2009); AIVAT (Burch et al. 2018) corrects for the agent's own dice too, which are left alone here. The beliefs are exact, whatever
filter the planner had. An episode needs no planner to be seen again: its seed and its actions determine it.
"""

from __future__ import annotations

import itertools
import logging
import math
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from airoas import __version__
from airoas.belief.particles import Particles
from airoas.catalog import with_hints
from airoas.episode import simulate
from airoas.errors import AiroasError, OptionError
from airoas.experiments.analysis.value_functions import ValueFunction, value_function
from airoas.experiments.rows.store import Lock, latest, read_spec, rewrite
from airoas.experiments.rows.types import Row
from airoas.experiments.run.play import find_domain
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.base import Decision
from airoas.rng import Rng, stream

log = logging.getLogger(__name__)
EVERY = 10.0
"""Seconds between lines on how far it has come."""
SAVE_EVERY = 60.0


class _Adjusting:
    """A planner that does again what was done, and sums up discount^t (Q(b_t, a_t) - V(b_t))."""

    def __init__(self, known: ValueFunction, discount: float, row: Row) -> None:
        self.known, self.discount, self.seed = known, discount, row["seed"]
        self.actions = [tuple(action) if isinstance(action, list) else action for action in row["actions"]]
        self.start = self.total = 0.0
        self.steps = 0

    def plan(self, model: KernelModel, belief: Particles, rng: Rng) -> Decision:
        action, t = self.actions[self.steps], self.steps
        value, action_value = self.known.values(belief, action, stream(self.seed, "control variate", t).bits(63))
        if t == 0:
            self.start = value
        self.total += self.discount**t * (action_value - value)
        self.steps += 1
        return Decision(action, value)


def adjusted_return(model: KernelModel, known: ValueFunction, row: Row) -> float:
    """The adjusted return of an episode. OptionError where its world does not come again."""
    if not row["steps"]:
        return row["discounted_return"]
    adjusting = _Adjusting(known, model.discount, row)
    episode = simulate(model, adjusting, row["seed"], "exact", max_steps=row["steps"])
    same = episode.steps == row["steps"] and math.isclose(episode.discounted_return, row["discounted_return"], rel_tol=1e-9, abs_tol=1e-9)
    if not same:
        remedy = "the model or airoas has changed since; run the episode again."
        raise OptionError(f"the world of seed {row['seed']} is another one now", remedy)
    total = adjusting.start + adjusting.total
    if episode.terminated:
        return total
    *_, last = episode.beliefs()
    return total - float(model.discount**episode.steps) * known.value(last)


def adjust_rows(rows: Iterable[Row], save: Callable[[], None] = lambda: None) -> list[str]:
    """Give `adjusted` to the finished rows that do not have it; sentences on those that cannot have it. `save` is called now and
    then."""
    wanted = sorted((row for row in rows if "error" not in row and "adjusted" not in row), key=_model_key)
    problems: dict[str, int] = {}
    logged = saved = time.monotonic()
    for i, (row, problem) in enumerate(zip(wanted, _adjusted_one_by_one(wanted), strict=True)):
        if problem:
            sentence = f"{Path(row['domain']).name}: {problem}"
            problems[sentence] = problems.get(sentence, 0) + 1
        if time.monotonic() - logged > EVERY:
            logged = saved = time.monotonic()
            log.info("adjusted returns: %d of %d episodes", i + 1, len(wanted))
        if time.monotonic() - saved > SAVE_EVERY:
            save()
            saved = time.monotonic()
    return [f"No adjusted return for {count} episodes of {sentence}" for sentence, count in problems.items()]


def _model_key(row: Row) -> tuple[str, int]:
    return row["domain"], -1 if row["map"] is None else row["map"]


def _adjusted_one_by_one(rows: list[Row]) -> Iterator[str]:
    """Adjust row after row, those of one model together; what stood in the way, or nothing."""
    for _, same_model in itertools.groupby(rows, key=_model_key):
        model: KernelModel | None = None
        judge: Any = None  # the same worlds, with all that is known of them
        known: ValueFunction | None = None
        refusal = ""
        for row in same_model:
            if row["version"] != __version__:
                yield f"this is airoas {__version__}, which does not see the worlds of {row['version']} again."
                continue
            if model is None and not refusal:
                try:
                    model = find_domain(row["domain"])(row["seed"])
                    judge = find_domain(with_hints(row["domain"]))(row["seed"])
                    known = value_function(judge)
                except AiroasError as error:
                    refusal = str(error)
            if refusal or model is None or known is None:
                yield refusal
            elif row.get("model") != model.fingerprint and _same_python(row):
                yield "the model has changed since they were run."
            else:
                try:
                    row["adjusted"] = round(adjusted_return(judge, known, row), 6)
                    yield ""
                except OptionError:
                    yield "their worlds are others now, since the model or airoas has changed."


def _same_python(row: Row) -> bool:
    """Whether the row's fingerprint, which is of bytecode, can be compared with one made here. Where not, the episode's return must come
    out as it was when it is replayed."""
    running = platform.python_version()
    return row.get("machine", {}).get("python", running).split(".")[:2] == running.split(".")[:2]


def adjusted_folder(folder: Path) -> tuple[dict[str, Row], list[str]]:
    """The rows of a folder with their adjusted returns, and sentences on those that have none. What had to be worked out is kept in
    the folder, unless it cannot be written to."""
    read_spec(folder)
    rows = latest(folder)
    if all("error" in row or "adjusted" in row for row in rows.values()):
        return rows, []
    try:
        lock = Lock(folder)
    except (OptionError, OSError) as error:
        log.warning("adjusted returns are not kept in %s (%s)", folder, error)
        return rows, adjust_rows(rows.values())
    try:
        rows = latest(folder)
        before = sum("adjusted" in row for row in rows.values())
        try:
            remarks = adjust_rows(rows.values(), lambda: rewrite(folder, rows.values()))
        finally:  # where it is stopped, what is done is not lost
            if sum("adjusted" in row for row in rows.values()) > before:
                rewrite(folder, rows.values())
    finally:
        lock.release()
    return rows, remarks


def with_adjusted_returns(rows: dict[str, Row]) -> dict[str, Row]:
    """Rows with adjusted returns in the place of returns, and without those that have none; a domain of which no row has one keeps
    its returns."""
    domains = {row["domain"] for row in rows.values() if "adjusted" in row}
    adjusted: dict[str, Row] = {}
    for key, row in rows.items():
        if "adjusted" in row:
            adjusted[key] = {**row, "discounted_return": row["adjusted"]}
        elif row["domain"] not in domains:
            adjusted[key] = row
    return adjusted
