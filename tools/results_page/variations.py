"""AIROAS against itself: more or less time, annealing on and off."""

from __future__ import annotations

import math

from airoas.experiments.analysis.statistics import holm
from airoas.experiments.analysis.summary import returns, summarise
from airoas.experiments.analysis.table import Difference, differences
from airoas.experiments.rows.types import Row
from tools.results_page.run import Run
from tools.results_page.text import SURE, after, hindrances, span, table, with_error, with_search

NAMES = {"anneal": "tree", "filter": "filter", "filter_particles": "particles", "seconds": "seconds"}
"""What is varied, in words."""


def budgets(run: Run) -> str:
    part = run.spec.parts[0]
    seconds = {cell.label: f"{cell.axes['seconds']:g} s" for cell in part.cells}
    domains = dict.fromkeys(cell.domain for cell in part.cells)
    adjusted, rows = run.adjusted(), []
    for domain in domains:
        rows.append([run.label(domain), *(with_search(run, run.cell(domain, label), run.earned(domain, label)) for label in seconds)])
        if run.has_adjusted:
            rows.append([f"{run.label(domain)}, adjusted", *(with_error(adjusted.earned(domain, label)) for label in seconds)])
    compared = [one for one in differences(adjusted.spec, adjusted.rows) if one.part == part.name]
    picture = "![Returns against time per move](results/budgets.png)"
    shown = f"{table(' | '.join(('domain', *seconds.values())), rows)}\n\n{picture}"
    return after(shown, _verdict(run, compared) + hindrances(run, part.cells))


def factorial(run: Run) -> str:
    adjusted = run.adjusted()
    modes = list(dict.fromkeys(cell.axes["anneal"] for cell in run.spec.cells))
    grid: dict[tuple[str, ...], dict[str, str]] = {}
    for cell in sorted(run.spec.cells, key=lambda cell: list(run.spec.domains).index(cell.domain)):
        size = "-" if cell.axes["filter"] == "exact" else str(cell.axes["filter_particles"])
        row = grid.setdefault((run.label(cell.domain), cell.axes["filter"], size), {})
        row[cell.axes["anneal"]] = with_search(adjusted, cell, returns(adjusted.done(cell)))
    header = ("domain", "agent's filter", "its particles", *(f"tree: {mode}" for mode in modes))
    shown = table(" | ".join(header), ([*key, *(row[mode] for mode in modes)] for key, row in grid.items()))
    pictures = "\n".join(f"![{part.name}: returns](results/{part.name.replace(' ', '-')}.png)" for part in run.spec.parts)
    sentences = _verdict(run, differences(adjusted.spec, adjusted.rows)) + _updates(run, "light-dark-2d") + hindrances(run, run.spec.cells)
    return after(f"{shown}\n\n{pictures}", sentences)


def _updates(run: Run, domain: str) -> list[str]:
    """What an update of the agent's belief takes."""
    taken: dict[tuple[str, int], list[Row]] = {}
    for cell in (cell for cell in run.spec.cells if cell.domain == domain):
        taken.setdefault((cell.axes["filter"], cell.axes["filter_particles"]), []).extend(run.done(cell))
    means = {key: 1e3 * summarise(domain, "", rows).update_seconds_mean for key, rows in taken.items() if rows}
    times = ", ".join(f"{ms:.2f} ms {name} with {size} particles" for (name, size), ms in means.items())
    return [f"{run.label(domain)}: equal particles are not equal time. An update took {times}."] if times else []


def _verdict(run: Run, compared: list[Difference]) -> list[str]:
    """In words: each kind of difference with its spread over all settings, and which are told apart."""
    known: dict[tuple[str, str, str], Difference] = {}
    for one in compared:
        first, second = (dict(word.split("=") for word in label.split()[1:]) for label in (one.first, one.second))
        (axis,) = (key for key in first if first[key] != second[key])
        if first.get("filter") == second.get("filter") == "exact":
            del first["filter_particles"]  # it has none: what stands here once for each size is one and the same
        rest = ", ".join(f"{NAMES[key]} {value}" for key, value in first.items() if key != axis)
        equal = ", at equal particles" if axis == "filter" and first[axis] != "exact" else ""
        if not math.isnan(one.p):
            known[one.domain, f"{NAMES[axis]} {first[axis]} less {second[axis]}{equal}", rest] = one
    if not known:
        return ["Too few episodes to compare anything yet."]
    clear = [key for key, p in zip(known, holm([one.p for one in known.values()]), strict=True) if p < 0.05]
    alone = sum(one.low > 0.0 or one.high < 0.0 for one in known.values())
    sentences = [f"Of {len(known)} paired differences {alone} have an interval without 0; {SURE}: {len(clear)}."]
    for domain, what in sorted({key[:2] for key in known}, key=lambda pair: (list(run.spec.domains).index(pair[0]), pair[1])):
        settings = {key: f"{one.mean:+.2f} {span(one.low, one.high)}" for key, one in known.items() if key[:2] == (domain, what)}
        means = [known[key].mean for key in settings]
        spread = f"{min(means):+.2f} to {max(means):+.2f} in {len(means)} settings" if len(means) > 1 else "".join(settings.values())
        sure = "; ".join(f"{text} {key[2]}" if key[2] else "yes" for key, text in settings.items() if key in clear)
        sentences.append(f"{run.label(domain)}, {what}: {spread}. Told apart: {sure or 'no'}.")
    return sentences
