"""The planners. Each is a frozen dataclass of options with `plan(model, belief, rng) -> Decision`."""

from airoas.planners.base import Decision, Planner, Stats
from airoas.planners.pomcp import POMCP
from airoas.planners.pomcpow import POMCPOW
from airoas.planners.random import Random

__all__ = ["POMCP", "POMCPOW", "Decision", "Planner", "Random", "Stats"]
