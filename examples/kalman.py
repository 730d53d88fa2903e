"""A linear model, and a Kalman filter for it: `airoas run kalman.py:Trolley airoas --iterations 50 --filter kalman.py:Kalman`."""

import math
from typing import NamedTuple

import numpy as np

import airoas


@airoas.model
class Trolley(NamedTuple):
    """Keep a trolley near the middle of its rail: a sensor tells roughly where it is, nothing tells how fast it goes."""

    jolt: float = 0.1
    noise: float = 0.5
    discount: float = 0.9
    max_steps: int = 20

    def actions(self):
        return ("push left", "wait", "push right")

    def initial(self, rng):
        return 2.0 * rng.normal(), 0.5 * rng.normal()  # position and speed

    def step(self, s, a, rng):
        position = s[0] + s[1]
        speed = s[1] + 0.3 * (a - 1) + self.jolt * rng.normal()
        return (position, speed), -min(abs(position), 5.0)

    def observe(self, s, a, rng):
        return (s[0] + self.noise * rng.normal(),)

    def obs_logpdf(self, o, s, a):
        z = (o[0] - s[0]) / self.noise
        return -0.5 * z * z - math.log(self.noise * math.sqrt(2.0 * math.pi))


class Gaussian(NamedTuple):
    mean: np.ndarray
    covariance: np.ndarray

    def particles(self, n, rng):
        numbers = np.random.default_rng(rng.bits(62))
        return airoas.Particles(numbers.multivariate_normal(self.mean, self.covariance, n))


class Kalman:
    def start(self, model, rng):
        return Gaussian(np.zeros(2), np.diag([4.0, 0.25]))

    def update(self, model, belief, action, observation, rng):
        moves = np.array([[1.0, 1.0], [0.0, 1.0]])
        mean = moves @ belief.mean + [0.0, 0.3 * (action - 1)]
        covariance = moves @ belief.covariance @ moves.T + np.diag([0.0, model.jolt**2])
        innovation, variance = observation[0] - mean[0], covariance[0, 0] + model.noise**2
        gain = covariance[:, 0] / variance
        posterior = Gaussian(mean + gain * innovation, covariance - np.outer(gain, covariance[0]))
        return airoas.Updated(posterior, -0.5 * (innovation**2 / variance + math.log(2.0 * math.pi * variance)))
