"""Any model as a Gymnasium environment, and a planner with its filter as a policy over it. Needs the extra `gym`."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from airoas.agent import Agent
from airoas.belief.filters.interface import Filter
from airoas.belief.filters.recovery import ParticleDeprivationWarning
from airoas.belief.particles import _checked
from airoas.compiler.coercion import LARGEST
from airoas.episode import _advance, _begin
from airoas.errors import AiroasError, ModelError, OptionError
from airoas.modelling.actions import ActionSpace
from airoas.modelling.checked_call import guard
from airoas.modelling.gate import as_numbers, gate_of
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rewards import MOST_REWARD
from airoas.options import whole
from airoas.planners.base import Decision, Planner
from airoas.rng import stream
from airoas.viz.pictures import pixels

try:
    import gymnasium
except ImportError:
    raise OptionError("gymnasium is not installed", "run `pip install 'airoas[gym]'`.") from None


class Environment(gymnasium.Env[np.ndarray, Any]):
    """A model as a world to act in.

    An action is an index, or an array [k] where actions are continuous (a dict by name where some of its numbers are choices); an
    observation is an array [width]. In a POMDP
    nothing is observed before the first action, nor in a terminal state: zeros stand there, which mean nothing.
    `reset(seed=k)` begins the world of `simulate(..., seed=k)`; without a seed the next one is drawn. `info` holds the
    true `state`, the `discount` and, where the model forbids actions in some states, the `action_mask` that
    `action_space.sample(mask)` takes.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 1}

    def __init__(
        self,
        model: Any,
        max_steps: int | None = None,
        action_bounds: tuple[Any, Any] = (-np.inf, np.inf),
        render_mode: str | None = None,
    ) -> None:
        """`max_steps`: steps until the episode is truncated (default: the model's own). `action_bounds`: the lowest and the
        highest continuous action, numbers or one for each component."""
        self.model: Any = _checked(model)
        self.max_steps = whole("max_steps", model.max_steps if max_steps is None else max_steps, 1)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise OptionError(f"render_mode is {render_mode!r}", "use 'ansi' for text, 'rgb_array' for pictures, or leave it out.")
        self.render_mode = render_mode
        shapes = model.shapes
        if shapes.action is None:
            self.action_space = gymnasium.spaces.Discrete(model.n_actions)
        elif model.space is not None:
            self.action_space = _space_of(model.space)
        else:
            lowest, highest = (np.broadcast_to(np.asarray(bound, np.float64), len(shapes.action.kinds)) for bound in action_bounds)
            self.action_space = gymnasium.spaces.Box(lowest, highest, dtype=np.float64)
        self.observation_space = _observation_box(model)
        self._states, self._observations = np.empty((2, len(shapes.state.kinds))), np.zeros((1, len(shapes.observation.kinds)))
        self._time: int | None = None
        """Steps taken; None outside an episode."""
        self._episode_seed = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._episode_seed = int(self.np_random.integers(1 << 62)) if seed is None else seed
        self._time = 0
        _begin(self.model, self._states, stream(self._episode_seed, "world"))
        return np.zeros(self._observations.shape[1]), self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self._time is None:
            raise OptionError("there is no episode to take a step in", "call reset() first, and again after an episode's end.")
        row = self._row(action)
        world = stream(self._episode_seed, "world", self._time)
        reward, terminated = _advance(self.model, self._states, self._observations, row, world)
        if not abs(reward) <= MOST_REWARD:
            remedy = f"return finite rewards of at most {MOST_REWARD:g} in size."
            raise ModelError(f"gave the reward {reward} at step {self._time}", remedy, where=location(self.model, "step"))
        self._time += 1
        truncated = not terminated and self._time >= self.max_steps
        if terminated:
            self._observations[:] = 0.0  # nothing is observed at the end
        if terminated or truncated:
            self._time = None
        return self._observations[0].copy(), float(reward), bool(terminated), truncated, self._info()

    def _row(self, action: Any) -> np.ndarray:
        """An action of the space as kernels take it."""
        space = self.action_space
        if self.model.shapes.action is None:
            one = isinstance(action, np.ndarray) and action.size == 1 and action.dtype.kind in "iu"
            return np.asarray(self.model.row("action", action.reshape(())[()] if one else action))
        if isinstance(action, dict):
            action = _numbers_of(self.model, action)
        row: np.ndarray = self.model.row("action", gate_of(self.model, "action").value(action))
        if isinstance(space, gymnasium.spaces.Box) and not ((row >= space.low) & (row <= space.high)).all():
            raise OptionError(f"the action {action} is outside the action space", f"keep within {space.low} and {space.high}.")
        return row

    def render(self) -> Any:
        """The true state: as text where `render_mode` is "ansi", as a picture [height, width, 3] by the model's `draw` where it is
        "rgb_array"."""
        if self.render_mode is None:
            return None
        state = self.model.from_row("state", self._states[0])
        if self.render_mode == "rgb_array":
            picture, remark = pixels(self.model, state)
            if remark:
                warnings.warn(remark, stacklevel=2)
            return picture
        if self.model.has("text"):
            try:
                return str(guard(self.model, "text", lambda: self.model.text(state, None)))
            except AiroasError as error:
                warnings.warn(f"{error} Until then the numbers stand there.", stacklevel=2)
        return str(state)

    def _info(self) -> dict[str, Any]:
        state = self.model.from_row("state", self._states[0])
        info = {"state": state, "discount": self.model.discount}
        if self.model.has("legal"):
            over = self.model.is_terminal(state)
            info["action_mask"] = np.array([not over and self.model.legal(state, a) for a in range(self.model.n_actions)], dtype=np.int8)
        return info


def _observation_box(model: KernelModel) -> gymnasium.spaces.Box:
    """Within the model's limits, without end where it does not know them. Zeros, which stand where nothing is observed, are within."""
    gate = gate_of(model, "observation")
    low, high = np.minimum(gate.low, 0.0), np.maximum(gate.high, 0.0)
    return gymnasium.spaces.Box(np.where(low > -LARGEST, low, -np.inf), np.where(high < LARGEST, high, np.inf), dtype=np.float64)


class Policy:
    """A planner with its filter: `policy(observation)` gives the next action in an `Environment`, as `simulate` would.

    It never sees the true state. Call `reset` whenever the environment is reset; the first observation after it, which means
    nothing, is passed over.
    """

    def __init__(self, model: Any, planner: Planner, seed: int, filter: str | Filter = "auto", particles: int = 10_000) -> None:
        self._begin = functools.partial(Agent, model, planner, filter=filter, particles=particles)
        self.agent = self._begin(seed=seed)
        self.decision: Decision | None = None

    def reset(self, seed: int | None = None) -> None:
        """Begin an episode with this seed, or with the one after that of the episode before."""
        next_seed = self.agent.seed if self.decision is None else self.agent.seed + 1
        self.agent = self._begin(seed=next_seed if seed is None else seed)
        self.decision = None

    def __call__(self, observation: Any) -> Any:
        """Take in what was observed after the action before, and choose the next: an index, an array [k], or a dict by name."""
        agent = self.agent
        if self.decision is not None:
            agent.observe(gate_of(agent.model, "observation").value(observation))
            if agent.recovery:
                warnings.warn(agent.recovery, ParticleDeprivationWarning, stacklevel=2)
        self.decision = agent.act()
        action = self.decision.action
        if not isinstance(action, tuple):
            return action
        row = np.array(agent.model.shapes.action.to_row(action))
        space = agent.model.space
        if space is None or space.boxes.all():
            return row
        return {axis.name: int(x) if axis.names else np.array([x]) for axis, x in zip(space.axes, row, strict=True)}


def _space_of(space: ActionSpace) -> gymnasium.spaces.Space[Any]:
    """A box; where some numbers are choices, a dict by name."""
    if space.boxes.all():
        return gymnasium.spaces.Box(space.low, space.high, dtype=np.float64)
    box, discrete = gymnasium.spaces.Box, gymnasium.spaces.Discrete
    parts: dict[str, gymnasium.spaces.Space[Any]] = {
        a.name: discrete(len(a.names)) if a.names else box(a.low, a.high, (1,), np.float64) for a in space.axes
    }
    return gymnasium.spaces.Dict(parts)


def _numbers_of(model: KernelModel, action: dict[str, Any]) -> list[float]:
    """An action given by the names of its parts, as the numbers that they stand for."""
    axes = () if model.space is None else model.space.axes
    missing = [axis.name for axis in axes if axis.name not in action] if axes else ["a space"]
    if missing:
        raise OptionError(f"the action has no {missing[0]}", "take one of `action_space.sample()`, or give every name there.")
    parts = [as_numbers(action[axis.name], f"the numbers of {axis.name}").ravel() for axis in axes]
    wrong = [axis.name for axis, part in zip(axes, parts, strict=True) if len(part) != 1]
    if wrong:
        raise OptionError(f"the action has not one number for {wrong[0]}", "take one of `action_space.sample()`.")
    return [float(part[0]) for part in parts]
