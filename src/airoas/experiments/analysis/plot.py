"""Pictures of an experiment: returns with their intervals, and returns against whatever number was varied."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from airoas.errors import OptionError
from airoas.experiments.analysis.statistics import Estimate
from airoas.experiments.analysis.summary import finished, returns
from airoas.experiments.rows.types import Row
from airoas.experiments.spec.cells import Cell, Part, Spec, format_value

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")  # told apart by the colour-blind too
MARKERS = "osD^vP*X"
_OUTLYING = 8.0
"""Times the middle width of intervals, from which one is too wide to be shown whole."""
AXES = {"seconds": "seconds for a decision", "iterations": "trials for a decision", "particles": "particles in the tree"}


def draw(spec: Spec, rows: dict[str, Row], folder: Path) -> list[Path]:
    """Draw everything that the experiment has to show into a folder; the files."""
    drawn = plots(spec, rows)
    folder.mkdir(parents=True, exist_ok=True)
    return [_save(figure, folder / f"{name}.png") for name, figure in drawn.items()]


def plots(spec: Spec, rows: dict[str, Row]) -> dict[str, Any]:
    """Everything that the experiment has to show: matplotlib's figures by name."""
    try:
        import matplotlib
    except ImportError:
        raise OptionError("matplotlib is not installed", "pip install 'airoas[plot]'.") from None
    drawn = {}
    with matplotlib.rc_context({"text.parse_math": False}):  # a title with two dollar signs is no formula
        for number, part in enumerate(spec.parts):
            name = part.name.replace(" ", "-").replace("/", "-") or (f"part-{number}" if len(spec.parts) > 1 else "")
            stem = f"{name}-" if name else ""
            drawn[f"{stem}returns"] = _returns(spec, part, rows)
            for axis in _numeric_axes(part):
                drawn[f"{stem}against-{axis.replace('_', '-')}"] = _against(spec, part, axis, rows)
    return drawn


def _numeric_axes(part: Part) -> list[str]:
    """The axes along which a number takes more than one value."""
    values: dict[str, set[Any]] = {}
    for cell in part.cells:
        for axis, value in cell.axes.items():
            values.setdefault(axis, set()).add(value)
    return [axis for axis, taken in values.items() if len(taken) > 1 and all(type(value) in (int, float) for value in taken)]


def _panels(spec: Spec, part: Part, width: float, height: float) -> tuple[Any, dict[str, Any]]:
    """A figure with a panel for each domain, at most three side by side."""
    from matplotlib.figure import Figure

    domains = list(dict.fromkeys(cell.domain for cell in part.cells))
    columns = min(3, len(domains))
    lines = math.ceil(len(domains) / columns)
    figure = Figure(figsize=(max(6.0, width * columns), height * lines + 0.6), layout="constrained")
    axes = list(figure.subplots(lines, columns, squeeze=False).flat)
    for unused in axes[len(domains) :]:
        unused.set_visible(False)
    panels = dict(zip(domains, axes, strict=False))
    for domain, panel in panels.items():
        panel.set_title(spec.domains[domain].label, fontsize=10)
        panel.grid(alpha=0.3)
        panel.set_axisbelow(True)
    scale = f"\n(scale {spec.scale}: not the experiment itself)" if spec.scale else ""
    figure.suptitle(f"{' - '.join(filter(None, (spec.title, part.name)))}{scale}", fontsize=11)
    return figure, panels


def _returns(spec: Spec, part: Part, rows: dict[str, Row]) -> Any:
    """A line for each cell, and one for each return that is known from elsewhere."""
    planners = list(dict.fromkeys(cell.planner for cell in part.cells))
    kinds = list(dict.fromkeys(_kind(cell, planners) for cell in part.cells))
    lines = {domain: [cell for cell in part.cells if cell.domain == domain] for domain in spec.domains}
    others = {domain: [name for name in spec.reference.get(domain, {}) if name not in planners] for domain in spec.domains}
    most = max(len(lines[domain]) + len(others[domain]) for domain in lines)
    longest = max(len(cell.label) for cell in part.cells)
    figure, panels = _panels(spec, part, 3.0 + 0.075 * longest, 0.7 + 0.28 * most)
    for domain, panel in panels.items():
        for y, cell in enumerate(lines[domain]):
            known = returns(list(finished(cell, rows).values()))
            colour = COLOURS[kinds.index(_kind(cell, planners)) % len(COLOURS)]
            if known.n:
                spread = [[known.mean - known.low], [known.high - known.mean]] if math.isfinite(known.sem) else None
                panel.errorbar(known.mean, y, xerr=spread, fmt="o", color=colour, capsize=3, markersize=5)
        names = [cell.planner for cell in lines[domain]] + others[domain]
        for y, name in enumerate(names):
            if name in spec.reference.get(domain, {}):
                mean, sem = spec.reference[domain][name]
                panel.errorbar(mean, y + 0.25, xerr=sem and 1.96 * sem, fmt="x", color="#777777", capsize=2, markersize=5, linewidth=0.8)
        _without_outliers(panel, [returns(list(finished(cell, rows).values())) for cell in lines[domain]])
        bound = spec.domains[domain].upper_bound
        if bound is not None:
            panel.axvline(bound, color="#B00000", linewidth=0.8, linestyle="--")
        panel.set_yticks(range(len(names)), [cell.label for cell in lines[domain]] + others[domain], fontsize=8)
        panel.set_ylim(len(names) - 0.4, -0.6)
    legend = ["discounted return, mean and 95 % interval"]
    if spec.reference:
        legend.append(f"grey: {spec.reference_title}, with 1.96 standard errors")
    if any(spec.domains[domain].upper_bound is not None for domain in panels):
        legend.append("dashed: proved upper bound")
    figure.supxlabel("; ".join(legend), fontsize=8)
    return figure


def _without_outliers(panel: Any, known: list[Estimate]) -> None:
    """Where some interval is far wider than the others are, end the axis where these do: else it leaves them no width. The
    wide one goes on beyond the edge, where an arrow says so."""
    spread = {y: one for y, one in enumerate(known) if one.n and math.isfinite(one.sem)}
    widths = sorted(one.high - one.low for one in spread.values())
    narrow = [one for one in spread.values() if one.high - one.low <= _OUTLYING * widths[(len(widths) - 1) // 2]]
    if not 0 < len(narrow) < len(spread):
        return
    ends = [end for one in narrow for end in (one.low, one.high)] + [one.mean for one in known if one.n]
    low, high = min(ends), max(ends)
    edge = 0.05 * (high - low) or 1.0
    panel.set_xlim(low - edge, high + edge)
    for y, one in spread.items():
        for end, is_beyond, arrow in ((low - edge, one.low < low - edge, "<"), (high + edge, one.high > high + edge, ">")):
            if is_beyond:
                panel.plot([end], [y], arrow, color="#777777", markersize=6, clip_on=False)


def _kind(cell: Cell, planners: list[str]) -> Any:
    """What gives a line its colour: the planner, or where there is one only, the first thing that varies."""
    return cell.planner if len(planners) > 1 else next(iter(cell.axes.values()), "")


def _against(spec: Spec, part: Part, axis: str, rows: dict[str, Row]) -> Any:
    """Mean return against a varied number, a line for everything else that varies."""
    figure, panels = _panels(spec, part, 5.2, 3.8)
    names = list(dict.fromkeys(_line(cell, axis) for cell in part.cells if axis in cell.axes))
    for domain, panel in panels.items():
        values = sorted({cell.axes[axis] for cell in part.cells if cell.domain == domain and axis in cell.axes})
        logarithmic = bool(values) and values[0] > 0 and values[-1] >= 5 * values[0]
        for number, name in enumerate(names):
            known = {
                cell.axes[axis]: returns(list(finished(cell, rows).values()))
                for cell in part.cells
                if cell.domain == domain and axis in cell.axes and _line(cell, axis) == name
            }
            points = [(value, result) for value, result in sorted(known.items()) if result.n]
            if not points:
                continue
            aside = (number - (len(names) - 1) / 2) * 0.03  # side by side, so that no interval hides another
            shift = (values[-1] - values[0]) * aside / 2
            x = [value * (1 + aside) if logarithmic else value + shift for value, _ in points]
            spread = [
                [_finite(result.mean - result.low) for _, result in points],
                [_finite(result.high - result.mean) for _, result in points],
            ]
            style = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]}
            panel.errorbar(
                x, [result.mean for _, result in points], yerr=spread, capsize=3, markersize=5, linewidth=1.2, label=name, **style
            )
        if logarithmic:
            panel.set_xscale("log")
        panel.set_xticks(values, [format_value(value) for value in values])
        panel.minorticks_off()
        panel.set_xlabel(AXES.get(axis, axis.replace("_", " ")), fontsize=9)
        panel.set_ylabel("discounted return, mean and 95 % interval", fontsize=8)
    handles, labels = next(iter(panels.values())).get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(3, max(1, len(labels))), fontsize=8)
    return figure


def _line(cell: Cell, axis: str) -> str:
    return " ".join((cell.planner, *(f"{name}={format_value(value)}" for name, value in cell.axes.items() if name != axis)))


def _finite(width: float) -> float:
    return width if math.isfinite(width) else 0.0


def _save(figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=150)
    return path
