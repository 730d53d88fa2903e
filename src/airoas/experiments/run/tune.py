"""Search for good options of a planner with Optuna (Akiba et al., 2019); the winner is judged on seeds that had no part in the choice."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airoas import catalog
from airoas.errors import AiroasError, OptionError
from airoas.experiments.analysis.statistics import Estimate
from airoas.experiments.analysis.summary import returns
from airoas.experiments.rows.store import Lock
from airoas.experiments.rows.types import Row
from airoas.experiments.run.bench import model_digest
from airoas.experiments.run.pool import Runner, run
from airoas.experiments.spec.building import build
from airoas.experiments.spec.cells import Spec

SEEDS = 100_000
"""First seed of the episodes that options are chosen on."""
FRESH = 500_000
"""First seed of those that the winner is judged on. Shipped experiments report on seeds from 900,000 on."""
BLOCKS = 5
"""Into so many a trial's episodes are cut; after each it may be given up."""
MOST_FAILURES = 5
"""So many failed trials in a row end the search."""
SAMPLERS = ("tpe", "random")
PRUNERS = ("median", "hyperband", "none")


_BEGIN_ANEW = "put it back as it was and give the same command, or begin anew with another --out."


class _ChangedError(OptionError):
    """Trials of two models cannot be compared."""


@dataclass(frozen=True)
class Tuning:
    """What is tuned: a planner on a domain. `fixed` are options that are given, the budget among them."""

    domain: str
    planner: str
    fixed: dict[str, Any]
    episodes: int
    filter: str = "auto"
    particles: int = 10_000
    max_steps: int | None = None
    sampler: str = "tpe"
    pruner: str = "median"

    def space(self) -> dict[str, tuple[Any, ...]]:
        """The options to search over, as the planner's class declares them."""
        declared = getattr(catalog.planner_class(self.planner), "SEARCH_SPACE", {})
        space = {name: bounds for name, bounds in declared.items() if name not in self.fixed}
        if not space:
            why = "has nothing left to search: all is --set" if declared else "declares no SEARCH_SPACE"
            raise OptionError(f"planner {self.planner!r} {why}", "choose a planner with options to tune.")
        return space

    def spec(self, candidates: dict[str, dict[str, Any]], first_seed: int, episodes: int) -> Spec:
        """The experiment that runs the planner with some sets of options."""
        table = {
            "title": f"{self.planner} on {self.domain}, tuned",
            "episodes": episodes,
            "seed": first_seed,
            "filter": self.filter,
            "particles": self.particles,
            **({} if self.max_steps is None else {"max_steps": self.max_steps}),
            "domains": [self.domain],
            "planners": {name: {"planner": self.planner, **options} for name, options in candidates.items()},
        }
        return build(table, folder=Path.cwd())


@dataclass(frozen=True)
class Winner:
    number: int
    options: dict[str, Any]
    value: float
    """Its mean on the seeds that chose it: too high."""


def tune(tuning: Tuning, trials: int, folder: Path, runner: Callable[[], Runner], watch: Callable[[str], None]) -> Winner:
    """Search until `trials` trials are done in all, those of earlier runs included, and return the best."""
    try:
        import optuna
    except ImportError:
        raise OptionError("optuna is not installed", "pip install 'airoas[tune]'.") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = tuning.space()
    tasks = tuning.spec({"default": tuning.fixed}, SEEDS, tuning.episodes).tasks()  # refuses what cannot run
    models = {str(number): model_digest(task) for number, task in {task["map"]: task for task in tasks}.items()}
    folder.mkdir(parents=True, exist_ok=True)
    lock = Lock(folder)
    try:
        study = _study(optuna, tuning, {"space": space, "models": models}, folder)
        done = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
        failed = 0
        with contextlib.closing(runner()) as running:
            while (count := len(study.get_trials(deepcopy=False, states=done))) < trials:
                trial = study.ask()
                options = {name: suggest_option(trial, name, *bounds) for name, bounds in space.items()}
                ended = _try(optuna, study, trial, tuning, options, models, running, watch, f"trial {count + 1} of {trials}")
                failed = 0 if ended else failed + 1
                if failed == MOST_FAILURES:
                    raise OptionError(
                        f"{MOST_FAILURES} trials in a row failed: {trial.user_attrs['error']}", "mend that, then run the command again."
                    )
        best = study.best_trial
        return Winner(best.number, tuning.fixed | best.params, best.value)
    finally:
        lock.release()


def suggest_option(trial: Any, name: str, kind: str, *bounds: Any) -> Any:
    """A value for an option declared as ("float" or "int", low, high[, "log"]) or ("choice", values)."""
    if kind == "choice":
        return trial.suggest_categorical(name, list(bounds[0]))
    low, high, *rest = bounds
    return getattr(trial, f"suggest_{kind}")(name, low, high, log=rest == ["log"])


def _study(optuna: Any, tuning: Tuning, more: dict[str, Any], folder: Path) -> Any:
    """The study of a folder, new or gone on with; `more` is what makes a search the one it is, besides what is tuned."""
    asked = json.loads(json.dumps({**dataclasses.asdict(tuning), **more}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parts of Optuna that call themselves experimental
        study = optuna.create_study(
            storage=f"sqlite:///{folder / 'study.db'}", study_name="airoas", direction="maximize", load_if_exists=True
        )
        known = study.user_attrs.get("search")
        if known is None:
            study.set_user_attr("search", asked)
        elif known != asked:
            differ = [key for key in asked if asked[key] != known.get(key)]
            if differ == ["models"]:
                raise _ChangedError(f"{tuning.domain} has changed since {folder} was begun", _BEGIN_ANEW)
            raise OptionError(f"{folder} holds another search ({', '.join(differ)} differ)", "give --out another folder.")
        begun = len(study.trials)
        samplers = {"tpe": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}
        study.sampler = samplers[tuning.sampler](seed=begun)  # a search gone on with must not draw its first trials again
        pruners = {"median": optuna.pruners.MedianPruner, "hyperband": optuna.pruners.HyperbandPruner, "none": optuna.pruners.NopPruner}
        study.pruner = pruners[tuning.pruner]()
    for trial in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)  # a run that was stopped left it behind
    return study


def _try(
    optuna: Any,
    study: Any,
    trial: Any,
    tuning: Tuning,
    options: dict[str, Any],
    models: dict[str, str | None],
    runner: Runner,
    watch: Callable[[str], None],
    count: str,
) -> bool:
    """Run one trial block by block; whether it came to an end, be it an early one. models: the digest for each map."""
    shown = ", ".join(f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in options.items())
    rows: list[Row] = []
    try:
        tasks = tuning.spec({"tried": tuning.fixed | options}, SEEDS, tuning.episodes).tasks()
        size = math.ceil(len(tasks) / BLOCKS)
        for block in range(0, len(tasks), size):
            for row in run(tasks[block : block + size], runner):
                if "error" in row:
                    raise AiroasError(row["error"], "")
                if row["model"] != models[str(row["map"])]:
                    raise _ChangedError(f"{tuning.domain} has changed since the search was begun", _BEGIN_ANEW)
                rows.append(row)
                watch(f"{count}: {shown}: {_format(returns(rows))}")
            trial.report(returns(rows).mean, len(rows))
            if len(rows) < len(tasks) and trial.should_prune():
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                return True
    except AiroasError as error:
        trial.set_user_attr("error", error.problem)
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
        if isinstance(error, _ChangedError):
            raise
        return False
    study.tell(trial, returns(rows).mean)
    return True


def _format(known: Estimate) -> str:
    return f"{known.mean:.3f} ± {known.sem:.3f} (n = {known.n})" if math.isfinite(known.sem) else f"{known.mean:.3f}"
