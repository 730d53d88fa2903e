"""Run a planner for a number of episodes and summarise them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from airoas.compile import mode
from airoas.episode import Episode, simulate
from airoas.errors import AiroasError, CompileError
from airoas.planners.base import Planner


@dataclass(frozen=True)
class Failure:
    """An episode that did not finish, and why."""

    seed: int
    error: str


@dataclass(frozen=True)
class Summary:
    """How a number of episodes went. Times in seconds, overshoot (past the deadline) in milliseconds."""

    domain: str
    planner: str
    episodes: int
    mean: float
    """Mean discounted return."""
    sem: float
    """Its standard error, sd / sqrt(n)."""
    steps_mean: float
    terminated: float
    """Share of episodes that reached a terminal state."""
    plan_seconds_mean: float
    plan_seconds_max: float
    update_seconds_mean: float
    overshoot_ms_p99: float
    overshoot_ms_max: float
    failures: int

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what is not a number becomes None."""
        return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in asdict(self).items()}


def run(make_model: Callable[[int], Any], planner: Planner, seeds: range, **options: Any) -> Iterator[Episode | Failure]:
    """One episode per seed. An episode that fails is reported and costs none of the others."""
    for seed in seeds:
        try:
            yield simulate(make_model(seed), planner, seed, **options)
        except CompileError:
            raise  # it would be the same in every episode, and slow
        except AiroasError as error:
            yield Failure(seed, str(error))
        except Exception as error:
            if mode() != "compiled":
                raise  # whoever runs interpreted or with bounds checks wants to see where
            yield Failure(seed, f"{type(error).__name__}: {error}. Run it with --mode debug or --mode interpreted to see where.")


def summarise(domain: str, planner: str, results: list[Episode | Failure]) -> Summary:
    """The figures of a run; returns and times are over the episodes that finished."""
    episodes = [result for result in results if isinstance(result, Episode)]
    returns = np.array([episode.discounted_return for episode in episodes])
    steps = [step for episode in episodes for step in episode.trace]
    plans = np.array([step.decision.stats.seconds for step in steps])
    overshoots = 1e3 * np.array([step.decision.stats.overshoot for step in steps])
    n = len(episodes)
    return Summary(
        domain=domain,
        planner=planner,
        episodes=n,
        mean=float(returns.mean()) if n else math.nan,
        sem=float(returns.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan,
        steps_mean=len(steps) / n if n else math.nan,
        terminated=sum(episode.terminated for episode in episodes) / n if n else math.nan,
        plan_seconds_mean=float(plans.mean()) if steps else math.nan,
        plan_seconds_max=float(plans.max()) if steps else math.nan,
        update_seconds_mean=float(np.mean([step.update_seconds for step in steps])) if steps else math.nan,
        overshoot_ms_p99=float(np.quantile(overshoots, 0.99)) if steps else math.nan,
        overshoot_ms_max=float(overshoots.max()) if steps else math.nan,
        failures=len(results) - n,
    )
