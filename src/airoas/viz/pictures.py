"""Episodes as pictures: a state with its belief, an episode at a glance, an animation. Needs matplotlib (extra `plot`)."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.errors import AiroasError, OptionError
from airoas.modelling.checked_call import guard
from airoas.modelling.kernel_model import KernelModel

SIZE = (7.0, 4.6)
MOST_PANELS = 6


def new_figure(width: float, height: float) -> Any:
    """A figure that no window shows."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise OptionError("matplotlib is not installed", "pip install 'airoas[plot]'.") from None
    return Figure(figsize=(width, height), layout="constrained")


def component_names(model: KernelModel) -> tuple[str, ...]:
    """What the numbers of a state are called; s[0], s[1], ... where the model does not say."""
    shape = model.shapes.state
    return shape.names if shape.record else tuple(f"s[{index}]" for index in range(shape.size))


@dataclass(frozen=True)
class View:
    """What a plain picture shows of a state: one or two of its numbers, and the range of each, the same at every step."""

    axes: tuple[int, ...]
    limits: tuple[tuple[float, float], ...]


def view_of(episode: Any) -> View:
    """The two numbers that the beliefs of an episode are least sure of, wide enough for states and beliefs."""
    first = next(episode.beliefs())
    spreads = [first.std(), *(step.std for step in episode.trace)]
    means = [first.mean(), *(step.mean for step in episode.trace)]
    known = [s for s in episode.states if s is not None]  # a robot's log has none
    seen = (
        np.array(known or [first.mean()], float),
        first.states[first.weights > 0.0],
        np.subtract(means, spreads),
        np.add(means, spreads),
    )
    axes = widest(spreads)
    points = np.concatenate(seen)[:, axes]
    low, high = points.min(axis=0), points.max(axis=0)
    edge = np.where(high > low, 0.05 * (high - low), 1.0)
    return View(axes, tuple(zip(*(limits.tolist() for limits in (low - edge, high + edge)), strict=True)))


def widest(spreads: Any) -> tuple[int, ...]:
    """Of standard deviations [steps, size] the two components with the largest on average, in their order."""
    average = np.mean(spreads, axis=0)
    return tuple(sorted(np.argsort(-average, kind="stable")[:2].tolist()))


def draw(model: KernelModel, axis: Any, s: Any, belief: Any, view: View | None = None) -> str:
    """The model's own picture of a state and a belief, either of which may be None; a plain one where it has none or its own fails.

    Returns why its own failed, else nothing.
    """
    if model.has("draw"):
        try:
            guard(model, "draw", lambda: model.draw(axis, s, belief))
            return ""
        except AiroasError as error:
            axis.clear()
            draw_plain(model, axis, s, belief, view)
            return f"{error} Until then a plain picture stands here."
    draw_plain(model, axis, s, belief, view)
    return ""


def draw_plain(model: KernelModel, axis: Any, s: Any, belief: Any, view: View | None = None) -> None:
    """Two numbers of a state and a belief, or the only one: those of the view, else those that the belief is least sure of."""
    names = [_plain(name) for name in component_names(model)]
    axes = view.axes if view else widest([belief.std()]) if belief is not None else tuple(range(len(names)))[:2]
    x, y = axes[0], axes[-1]
    axis.set_xlabel(names[x])
    if len(axes) == 1:
        axis.set_ylabel("probability per bin")
        if belief is not None:
            axis.hist(belief.states[:, x], bins=60, weights=belief.weights, color="#56B4E9", label="belief")
        if s is not None:
            axis.axvline(float(s[x]), color="#D55E00", linewidth=2.0, label="true state")
    else:
        axis.set_ylabel(names[y])
        if belief is not None:
            points, weights = _merged(belief.states[:, axes], belief.weights)
            area = 4.0 + 60.0 * weights / weights.max() if len(points) < 500 else 6.0
            axis.scatter(*points.T, s=area, color="#56B4E9", alpha=0.5, linewidths=0.0, label="belief")
        if s is not None:
            mark = {"s": 220.0, "marker": "*", "color": "#D55E00", "edgecolors": "white", "label": "true state", "zorder": 3}
            axis.scatter([float(s[x])], [float(s[y])], **mark)
    if view:
        axis.set_xlim(view.limits[0])
        if len(axes) == 2:
            axis.set_ylim(view.limits[1])
    if s is not None or belief is not None:
        axis.legend(loc="best", framealpha=0.9)


def _merged(points: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points that coincide as one, with the sum of their weights."""
    distinct, indices = np.unique(points, axis=0, return_inverse=True)
    return distinct, np.bincount(indices.ravel(), weights=weights)


def _plain(text: str) -> str:
    """Text in which matplotlib finds no formula."""
    return text.replace("$", r"\$")


def picture(model: KernelModel, s: Any, belief: Any, view: View) -> tuple[str, str]:
    """A state and a belief as the address of an image that a page holds within itself; and why it is a plain one, if `draw` failed."""
    figure = new_figure(*SIZE)
    remark = draw(model, figure.subplots(), s, belief, view)
    try:
        return inline(figure), remark
    except Exception as error:  # text of the user's that looks like a formula, say, is read only now
        figure = new_figure(*SIZE)
        draw_plain(model, figure.subplots(), s, belief, view)
        return inline(figure), f"What {type(model).__name__}.draw has drawn cannot be shown ({error}). A plain picture stands here."


def inline(figure: Any) -> str:
    """A figure as `data:` address."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=100)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def pixels(model: KernelModel, s: Any) -> tuple[np.ndarray, str]:
    """A state as a picture [height, width, 3] of bytes; and why it is a plain one, if `draw` failed."""
    figure = new_figure(*SIZE)
    remark = draw(model, figure.subplots(), s, None)
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.array(canvas.buffer_rgba())[:, :, :3].copy(), remark


def plot(episode: Any, steps: Any = None) -> Any:
    """An episode at a glance: the domain at some steps (six spread over it by default), and how rewards and the belief went."""
    last = episode.steps
    chosen = sorted({int(t) for t in (np.linspace(0, last, min(last + 1, MOST_PANELS)) if steps is None else steps)})
    if not chosen or not 0 <= chosen[0] <= chosen[-1] <= last:
        raise OptionError(f"steps {chosen}", f"give some of 0 .. {last}.")
    columns = min(3, len(chosen))
    lines = -(-len(chosen) // columns)
    figure = new_figure(5.2 * columns, 3.6 * lines + 2.6)
    grid = figure.add_gridspec(lines + 1, columns, height_ratios=[3.6] * lines + [2.6])
    states, view = episode.states, view_of(episode)
    shown = {t: belief for t, belief in enumerate(every_belief(episode)) if t in chosen}
    for index, t in enumerate(chosen):
        panel = figure.add_subplot(grid[index // columns, index % columns])
        _draw_with_text(episode.model, panel, states[t], shown[t], view)
        panel.set_title(_plain(_heading(episode, t)), fontsize=9, loc="left")
    _course(episode, figure.add_subplot(grid[lines, :]))
    return figure


def every_belief(episode: Any, record: list[Any] | None = None) -> Iterator[Particles]:
    """A belief for every state; that of a terminal state, which updates nothing any more, is the one before it. record: as in `beliefs`."""
    belief = None
    for belief in episode.beliefs(record):
        yield belief
    if episode.terminated and episode.steps:
        assert belief is not None
        yield belief


def _draw_with_text(model: KernelModel, axis: Any, s: Any, belief: Any, view: View) -> None:
    remark = draw(model, axis, s, belief, view)
    if remark:
        warnings.warn(remark, stacklevel=4)


def _heading(episode: Any, t: int) -> str:
    if t == episode.steps:
        return f"after step {t - 1}" if t else "start"
    return f"step {t}: {episode.action_name(episode.trace[t].action)}"


def _course(episode: Any, axis: Any) -> None:
    """Rewards as bars, and what the planner expected: its value with its bounds."""
    trace = episode.trace
    at = np.arange(len(trace))
    axis.bar(at, [step.reward for step in trace], width=0.6, color="#999999", label="reward")
    value, lower, upper = (np.array([getattr(step.decision, name) for step in trace]) for name in ("value", "lower", "upper"))
    if np.isfinite(value).any():
        axis.plot(at, value, color="#0072B2", marker="o", markersize=3, label="value of the plan")
    if np.isfinite(lower + upper).any():
        axis.fill_between(at, lower, upper, color="#0072B2", alpha=0.15, linewidth=0.0, label="its bounds")
    axis.set_xlabel("step")
    axis.grid(alpha=0.3)
    axis.legend(loc="best", fontsize=8)


def animate(episode: Any, path: str | PathLike[str], seconds: float = 0.6) -> None:
    """Write a GIF with a frame for each step. seconds: for each frame."""
    from PIL import Image

    if not 0.02 <= seconds <= 60.0:
        raise OptionError(f"seconds is {seconds}", "show a frame for 0.02 to 60 seconds.")
    frames = []
    view = view_of(episode)
    for t, (s, belief) in enumerate(zip(episode.states, every_belief(episode), strict=True)):
        figure = new_figure(*SIZE)
        axis = figure.subplots()
        _draw_with_text(episode.model, axis, s, belief, view)
        earned = f"   reward so far {sum(step.reward for step in episode.trace[:t]):g}"
        axis.set_title(_plain(_heading(episode, t) + earned), fontsize=10, loc="left")
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=90)
        frames.append(Image.open(file).convert("P", palette=Image.Palette.ADAPTIVE))
    frames[0].save(path, format="GIF", save_all=True, append_images=frames[1:], duration=round(1e3 * seconds), loop=0)
