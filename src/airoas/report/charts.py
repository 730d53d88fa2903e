"""The charts of a step, as plotly's JavaScript takes them. Text of the user's is escaped: plotly reads some HTML in it."""

from __future__ import annotations

import math
from html import escape
from typing import Any, NamedTuple

import numpy as np

from airoas.belief.tempering.result import Annealed
from airoas.errors import OptionError
from airoas.planners.base import Decision
from airoas.report.outline import Outline, fitted

Chart = dict[str, Any]
"""A figure of plotly's."""
LONGEST = 60
MOST_ACTIONS, MOST_OF_A_SPACE = 40, 20
BLUE, ORANGE = "#3b8fd0", "#e07b28"
EDGE = {"width": 1, "color": "rgba(128, 128, 128, 0.7)"}  # seen on light and on dark


def graphs() -> Any:
    """plotly.graph_objects."""
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise OptionError("plotly is not installed", "pip install 'airoas[viz]'.") from None
    return go


def label(text: str) -> str:
    """The user's text, escaped and not too long."""
    return escape(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


class Line(NamedTuple):
    """An action at the root as a chart shows it."""

    name: str
    is_chosen: bool
    branch: Any
    """Its node; None where the tree does not have it."""


class Known(NamedTuple):
    """The node of an action, on which line it stands, and in which colour."""

    at: int
    branch: Any
    colour: str


def lines_of(decision: Decision, branches: list[Any]) -> list[Line]:
    """The last of these actions, and the one that was chosen, whether it is among them or not."""
    chosen = [i for i, branch in enumerate(branches) if branch.action == decision.action][-1:]
    first = len(branches) - (MOST_ACTIONS if decision.tree.model.n_actions else MOST_OF_A_SPACE)
    lines = [Line(branch.name, i in chosen, branch) for i, branch in enumerate(branches) if i >= first or i in chosen]
    return lines if chosen else [*lines, Line(decision.tree.model.action_text(decision.action), True, None)]


def values(decision: Decision) -> Chart | None:
    """The value of each action at the root: bounds as a bar from lower to upper, or mean returns by visits."""
    if decision.tree is None:
        return None
    root = decision.tree.root
    bounded = hasattr(root, "branches")
    branches = root.best_branches[::-1] if bounded else sorted(root.children, key=lambda b: (b.visits, b.value))
    lines = lines_of(decision, branches)
    at = list(range(len(lines)))
    known = [Known(i, line.branch, ORANGE if line.is_chosen else BLUE) for i, line in enumerate(lines) if line.branch is not None]
    traces, title = _bounds(known) if bounded else _means(known)
    if bounded and "rollouts" in decision.stats.notes and math.isfinite(decision.value):
        row = next(i for i, line in enumerate(lines) if line.is_chosen)
        said = f"{label(lines[row].name)}: {decision.value:.4g} by rollouts"
        marker = {"color": ORANGE, "size": 11, "symbol": "diamond"}
        traces.append(graphs().Scatter(y=[row], x=[decision.value], mode="markers", marker=marker, hovertext=[said], hoverinfo="text"))
        title += "<br>◆ what rollouts of the one taken earned"
    title = title if decision.stats.notes.get("sound", True) else f"estimated {title}"
    shown = sum(line.branch is not None for line in lines)
    title += f"<br>{shown} of {len(branches)} actions" if shown < len(branches) else ""
    ticks = [f'<span style="color:{ORANGE}"><b>{label(line.name)}</b></span>' if line.is_chosen else label(line.name) for line in lines]
    layout = {
        "xaxis": {"title": {"text": title}, "automargin": True},
        "yaxis": {"tickvals": at, "ticktext": ticks, "automargin": True, "zeroline": False},
        "showlegend": False,
        "height": max(230, 108 + 24 * len(at)),
    }
    return _chart(traces, layout)


def _bounds(known: list[Known]) -> tuple[list[Any], str]:
    """The bars of a bounded tree's actions; what is below the axis."""
    go = graphs()
    at, branches, colours = [one.at for one in known], [one.branch for one in known], [one.colour for one in known]
    lower, gaps = [branch.lower for branch in branches], [branch.upper - branch.lower for branch in branches]
    text = [f"{label(branch.name)}: [{branch.lower:.4g}, {branch.upper:.4g}]{_cell(branch)}" for branch in branches]
    marker = {"color": colours, "opacity": 0.55}
    bars = go.Bar(y=at, x=gaps, base=lower, orientation="h", marker=marker, hovertext=text, hoverinfo="text")
    ends = go.Scatter(y=at, x=lower, mode="markers", marker={"color": colours, "size": 9}, hoverinfo="skip")
    open_ends = [branch.upper if math.isinf(branch.lower) else None for branch in branches]
    hollow = {"color": colours, "size": 10, "symbol": "triangle-left-open"}
    below = go.Scatter(y=at, x=open_ends, mode="markers", marker=hollow, hovertext=text, hoverinfo="text")
    never = any(end is not None for end in open_ends)
    return [bars, ends, below], "value: lower bound (dot) to upper bound" + ("<br>◁ at most, not simulated" if never else "")


def _cell(branch: Any) -> str:
    return f", cell ± {branch.cell_text}" if branch.cell_text else ""


def _means(known: list[Known]) -> tuple[list[Any], str]:
    """The dots of a visit-count tree's actions; what is below the axis."""
    at, branches, colours = [one.at for one in known], [one.branch for one in known], [one.colour for one in known]
    text = [f"{label(branch.name)}: {branch.value:.4g} in {branch.visits} visits" for branch in branches]
    most = max((branch.visits for branch in branches), default=0) or 1
    marker = {"color": colours, "size": [6.0 + 22.0 * (branch.visits / most) ** 0.5 for branch in branches], "opacity": 0.8}
    means = [branch.value if branch.visits else None for branch in branches]
    dots = graphs().Scatter(y=at, x=means, mode="markers", marker=marker, hovertext=text, hoverinfo="text")
    return [dots], "mean return; the larger the dot, the more visits"


def icicle(shown: Outline) -> Chart:
    """The search tree: click a node to open it, hover to read it."""
    entries = shown.entries
    texts = ["<br>".join(f"{name}: {label(value)}" for name, value in entry.facts.items()) for entry in entries]
    colours: list[float] = []
    for entry in entries:  # what was never tried looks like what is above it
        colours.append(entry.value if math.isfinite(entry.value) else colours[entry.parent] if entry.parent >= 0 else 0.0)
    sizes = fitted(shown)
    low, high = _middle(np.array(colours), np.array(sizes))
    bar = {"title": {"text": "value"}, "thickness": 12}
    marker = {"colors": colours, "colorscale": "Cividis", "cmin": low, "cmax": max(high, low + 1e-9), "colorbar": bar, "line": EDGE}
    trace = graphs().Icicle(
        ids=[str(i) for i in range(len(entries))],
        parents=["" if entry.parent < 0 else str(entry.parent) for entry in entries],
        labels=[label(entry.label) for entry in entries],
        values=sizes,
        branchvalues="total",
        hovertext=texts,
        hoverinfo="text",
        maxdepth=6,
        tiling={"orientation": "v"},
        marker=marker,
        pathbar={"visible": True, "thickness": 26},
    )
    return _chart([trace], {"height": 460, "margin": {"l": 8, "r": 8, "t": 34, "b": 8}})


def _middle(values: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """The range of values without the outer 2 % of the weight on each side: a few disasters must not take all the colours."""
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order]) / weights.sum()
    low, high = np.searchsorted(cumulative, (0.02, 0.98))
    return float(values[order[low]]), float(values[order[high]])


def temperatures(annealed: list[Annealed]) -> Chart | None:
    """The temperatures that annealing took, and the share of moves accepted at them."""
    if not annealed:
        return None
    go = graphs()
    last = annealed[-1]
    betas = go.Scatter(y=last.betas.tolist(), mode="lines+markers", line={"color": BLUE}, name="temperature β")
    rates = last.acceptance.tolist()
    accepted = go.Scatter(
        x=list(range(1, 1 + len(rates))), y=rates, mode="markers", marker={"color": ORANGE, "symbol": "diamond", "size": 8}
    )
    accepted.name = "moves accepted"
    layout = {
        "xaxis": {"title": {"text": "stage"}, "dtick": max(1, len(last.betas) // 8)},
        "yaxis": {"range": [-0.03, 1.06]},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "height": 280,
    }
    return _chart([betas, accepted], layout)


def _chart(traces: list[Any], layout: dict[str, Any]) -> Chart:
    figure = graphs().Figure(traces, {"margin": {"l": 40, "r": 16, "t": 34, "b": 46}} | layout)
    figure.layout.template = None  # light or dark is the reader's choice
    plain: Chart = figure.to_plotly_json()
    return plain
