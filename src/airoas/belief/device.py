"""A particle belief in a GPU's memory, and its annealing there."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from airoas.belief.particles import Particles, _checked
from airoas.belief.tempering.anneal import WAITING, Waiting
from airoas.belief.tempering.device import choose_on, move_to, temper_on
from airoas.compiler.device import Device, DeviceArray, device
from airoas.compiler.kernels import kernel
from airoas.compiler.lanes import lanes
from airoas.compiler.vector_exp import exp
from airoas.errors import ModelError
from airoas.modelling import batch
from airoas.modelling.gate import check_stream
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Reals, Rows, Weights
from airoas.options import whole
from airoas.rng import Rng, stream


class DeviceParticles(Particles):
    """Particles that stay on a GPU until somebody looks: `states` and `log_weights` are copied when they are first asked for."""

    on_device = True
    __slots__ = ("_device", "_device_log_weights", "_device_states", "_log_weights", "_states")

    def __init__(self, device: Device, states: DeviceArray, log_weights: DeviceArray, model: KernelModel | None) -> None:
        self._device, self._device_states, self._device_log_weights, self._model = device, states, log_weights, model
        self._states: np.ndarray | None = None
        self._log_weights: np.ndarray | None = None

    @property
    def states(self) -> np.ndarray:  # type: ignore[override]
        if self._states is None:
            self._states = self._device_states.get()
            self._states.flags.writeable = False
        return self._states

    @property
    def log_weights(self) -> np.ndarray:  # type: ignore[override]
        if self._log_weights is None:
            self._log_weights = self._device_log_weights.get()
            self._log_weights.flags.writeable = False
        return self._log_weights

    @staticmethod
    def on(device: Device, belief: Particles) -> DeviceParticles:
        """Any belief there."""
        if isinstance(belief, DeviceParticles) and belief._device is device:
            return belief
        return DeviceParticles(device, device.array(belief.states), device.array(belief.log_weights), belief._model)

    @staticmethod
    def sample_on(device: Device, model: KernelModel, n: int, rng: Rng) -> DeviceParticles:
        """As `Particles.sample`."""
        n, seed = whole("n", n, 1), check_stream(rng).bits(62)
        states, logs = device.allocate((n, _checked(model).shapes.state.size)), device.allocate((n,))
        device.launch(batch.initial, n, device.model(model), states, device.allocate((n,), np.bool_), seed)
        if device.fold(_fill, n, states, logs, -math.log(n))[0]:
            raise ModelError("gives a state that is not finite", "return finite numbers.", where=location(model, "initial"))
        return DeviceParticles(device, states, logs, model)

    def draw(self, n: int, rng: Rng, method: str = "systematic") -> Particles:
        if method != "systematic":
            return super().draw(n, rng, method)
        n, offset, device = whole("n", n, 1), check_stream(rng).uniform(), self._device
        weights, chosen = device.allocate((len(self),)), device.allocate((n,), np.int64)
        device.launch(_weigh, len(self), self._device_log_weights, weights)
        choose_on(device, weights, offset, chosen)
        states, logs = device.allocate((n, self._device_states.shape[1])), device.allocate((n,))
        device.launch(_gather, n, self._device_states, chosen, states, logs, -math.log(n))
        return DeviceParticles(device, states, logs, self._model)

    def __len__(self) -> int:
        return len(self._device_log_weights)


class WaitingOnDevice(Waiting):
    """Temperings on the GPU at hand."""

    most_kinds, most_kept = 2, 1 << 62  # zeroing memory there would take longer than a plain update

    def __init__(self, model: KernelModel) -> None:
        super().__init__(model)
        self._device = device()

    def make(self, n: int, move: str, draws: int, schedule: np.ndarray, scale: float | None, options: dict[str, Any]) -> Any:
        return move_to(self._device, super().make(1, move, draws, schedule, scale, options), n)

    def load(self, work: Any, belief: Particles) -> None:
        remote = DeviceParticles.on(self._device, belief)
        work.first.ancestors.set(remote._device_states)
        work.first.log_weights.set(remote._device_log_weights)

    def run(self, work: Any, seed: int) -> int:
        return int(temper_on(self._device)(work, seed))

    def copied(self, system: Any) -> Any:
        return SimpleNamespace(**{name: getattr(system, name).get() for name in ("ancestors", "states", "alive")})

    def belief(self, system: Any) -> Particles:
        return DeviceParticles(self._device, system.states.copy(), system.log_weights.copy(), self._model)

    def draws(self, belief: Particles, actions: Rows) -> int:
        few = belief.draw(_LOOKED_AT, stream(0, "draws")) if len(belief) > _LOOKED_AT else belief
        return super().draws(few, actions)


_LOOKED_AT = 256
"""Particles that tell how many random draws a step takes."""


@kernel
def _fill(states: Rows, logs: Reals, value: float) -> int:
    """How many states are not finite; every log weight becomes `value`."""
    count = 0
    for i in lanes(len(states)):
        logs[i] = value
        for k in range(states.shape[1]):
            count += int(not abs(states[i, k]) < math.inf)
    return count


@kernel
def _weigh(log_weights: Reals, weights: Weights) -> None:
    for i in lanes(len(weights)):
        weights[i] = exp(log_weights[i])


@kernel
def _gather(source: Rows, chosen: Indices, states: Rows, logs: Reals, value: float) -> None:
    for j in lanes(len(chosen)):
        for k in range(states.shape[1]):
            states[j, k] = source[chosen[j], k]
        logs[j] = value


WAITING["cuda"] = WaitingOnDevice
