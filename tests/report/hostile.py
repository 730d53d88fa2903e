"""A model whose names try to break out of a page, small enough to be searched interpreted."""

import math
from typing import NamedTuple

import airoas

SCRIPT = "<script>window.broken = 1</script>"
IMAGE = "</script><img src=x onerror='window.broken = 1'>"
NAMES = (SCRIPT, IMAGE, "<b>bold</b> %{label} $\\frac$", "wait", "wait")  # a formula that is none, and one name twice


@airoas.model
class Hostile(NamedTuple):
    """Walk on a line and see sharply where you are."""

    noise: float = 0.05
    discount: float = 0.9

    def actions(self):
        return NAMES

    def initial(self, rng):
        return (4.0 * rng.uniform(), 0)

    def step(self, s, a, rng):
        return (s[0] + 0.5 * (a - 1) + 0.1 * rng.normal(), s[1] + 1), -abs(s[0] - 1.0)

    def observe(self, s, a, rng):
        return (s[0] + self.noise * rng.normal(),)

    def obs_logpdf(self, o, s, a):
        z = (o[0] - s[0]) / self.noise
        return -0.5 * z * z - math.log(self.noise * math.sqrt(2.0 * math.pi))

    def value_bounds(self, s):
        return -100.0, 0.0


@airoas.model
class Drawn(NamedTuple):
    """The same with pictures that need a belief, and an end."""

    noise: float = 0.05
    discount: float = 0.9

    actions, initial, observe, obs_logpdf = Hostile.actions, Hostile.initial, Hostile.observe, Hostile.obs_logpdf

    def step(self, s, a, rng):
        return (s, 0.0) if s[1] >= 2 else ((s[0] + 0.1 * rng.normal(), s[1] + 1), 1.0)

    def is_terminal(self, s):
        return s[1] >= 2

    def draw(self, axis, s, belief):
        axis.plot(belief.mean(), belief.std())

    def text(self, s, belief):
        return f"near {belief.mean()[0]}"
