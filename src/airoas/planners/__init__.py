"""The planners. Each is a frozen dataclass of options with `plan(model, belief, rng) -> Decision`."""

from airoas.planners.adaops import AdaOPS
from airoas.planners.airoas import AIROAS
from airoas.planners.ardespot import ARDESPOT
from airoas.planners.base import Decision, Planner, Stats
from airoas.planners.blind import Blind
from airoas.planners.fitted_q import FittedQ
from airoas.planners.pbvi import PBVI
from airoas.planners.pomcp import POMCP
from airoas.planners.pomcpow import POMCPOW
from airoas.planners.qmdp import QMDP
from airoas.planners.random import Random

__all__ = ["AIROAS", "ARDESPOT", "PBVI", "POMCP", "POMCPOW", "QMDP", "AdaOPS", "Blind", "Decision", "FittedQ", "Planner", "Random", "Stats"]
