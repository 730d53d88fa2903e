"""How a pump wears and shakes: what the model in pump.py takes from a second file."""

import math
from typing import NamedTuple

REPAIR_COST = 3.0
BREAKDOWN_COST = 20.0
SHAKE_SD = 0.1


class Pump(NamedTuple):
    wear: float
    broken: bool


def shaking(pump):
    return 0.2 + pump.wear * pump.wear


def normal_logpdf(x, mean, sd):
    z = (x - mean) / sd
    return -0.5 * z * z - math.log(sd * math.sqrt(2.0 * math.pi))
