"""AIROAS against itself: more or less time, annealing on and off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from results_page.text import SURE, after, beside, figure, in_words, span, table

from airoas.experiments.analysis.statistics import holm
from airoas.experiments.analysis.summary import returns, summarise
from airoas.experiments.analysis.table import differences
from airoas.experiments.run.play import Row

if TYPE_CHECKING:
    from results import Run

NAMES = {"anneal": "tree", "filter": "filter", "filter_particles": "particles", "seconds": "seconds"}
"""What is varied, in words."""


def budgets(run: Run) -> str:
    part = run.spec.parts[0]
    budgets = {cell.label: f"{cell.axes['seconds']:g} s" for cell in part.cells}
    domains = dict.fromkeys(cell.domain for cell in part.cells)
    fair, rows = run.less_luck(), []
    for domain in domains:
        rows.append([run.label(domain), *(beside(run, run.cell(domain, label), run.earned(domain, label)) for label in budgets)])
        if run.luck:
            rows.append([f"{run.label(domain)}, without luck", *(figure(fair.earned(domain, label)) for label in budgets)])
    compared = [r for r in differences(fair.spec, fair.rows) if r["part"] == part.name]
    picture = "![Returns against time per move](results/budgets.png)"
    shown = f"{table(' | '.join(('domain', *budgets.values())), rows)}\n\n{picture}"
    return after(shown, _verdict(run, compared) + in_words(run, part.cells))


def factorial(run: Run) -> str:
    fair = run.less_luck()
    modes = list(dict.fromkeys(cell.axes["anneal"] for cell in run.spec.cells))
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for cell in sorted(run.spec.cells, key=lambda cell: list(run.spec.domains).index(cell.domain)):
        size = "-" if cell.axes["filter"] == "exact" else str(cell.axes["filter_particles"])
        row = found.setdefault((run.label(cell.domain), cell.axes["filter"], size), {})
        row[cell.axes["anneal"]] = beside(fair, cell, returns(list(fair.done(cell).values())))
    header = ("domain", "agent's filter", "its particles", *(f"tree: {mode}" for mode in modes))
    shown = table(" | ".join(header), ([*key, *(row[mode] for mode in modes)] for key, row in found.items()))
    pictures = "\n".join(f"![{part.name}: returns](results/{part.name.replace(' ', '-')}.png)" for part in run.spec.parts)
    said = _verdict(run, differences(fair.spec, fair.rows)) + _updates(run, "light-dark-2d") + in_words(run, run.spec.cells)
    return after(f"{shown}\n\n{pictures}", said)


def _updates(run: Run, domain: str) -> list[str]:
    """What an update of the agent's belief takes."""
    taken: dict[tuple[str, int], list[Row]] = {}
    for cell in (cell for cell in run.spec.cells if cell.domain == domain):
        taken.setdefault((cell.axes["filter"], cell.axes["filter_particles"]), []).extend(run.done(cell).values())
    means = {key: 1e3 * summarise(domain, "", rows).update_seconds_mean for key, rows in taken.items() if rows}
    said = ", ".join(f"{ms:.2f} ms {name} with {size} particles" for (name, size), ms in means.items())
    return [f"{run.label(domain)}: equal particles are not equal time. An update took {said}."] if said else []


def _verdict(run: Run, compared: list[dict[str, Any]]) -> list[str]:
    """In words: each kind of difference with its spread over all settings, and which are told apart."""
    known: dict[tuple[str, str, str], dict[str, Any]] = {}
    for r in compared:
        first, second = (dict(word.split("=") for word in r[key].split()[1:]) for key in ("first", "second"))
        (axis,) = (key for key in first if first[key] != second[key])
        if first.get("filter") == second.get("filter") == "exact":
            del first["filter_particles"]  # it has none: what stands here once for each size is one and the same
        rest = ", ".join(f"{NAMES[key]} {value}" for key, value in first.items() if key != axis)
        equal = ", at equal particles" if axis == "filter" and first[axis] != "exact" else ""
        if r["p"] is not None:
            known[r["domain"], f"{NAMES[axis]} {first[axis]} less {second[axis]}{equal}", rest] = r
    if not known:
        return ["Too few episodes to compare anything yet."]
    clear = [key for key, p in zip(known, holm([r["p"] for r in known.values()]), strict=True) if p < 0.05]
    alone = sum(r["low"] > 0.0 or r["high"] < 0.0 for r in known.values())
    said = [f"Of {len(known)} paired differences {alone} have an interval without 0; {SURE}: {len(clear)}."]
    for domain, what in sorted({key[:2] for key in known}, key=lambda pair: (list(run.spec.domains).index(pair[0]), pair[1])):
        here = {key: f"{r['mean']:+.2f} {span(r['low'], r['high'])}" for key, r in known.items() if key[:2] == (domain, what)}
        means = [known[key]["mean"] for key in here]
        spread = f"{min(means):+.2f} to {max(means):+.2f} in {len(means)} settings" if len(means) > 1 else "".join(here.values())
        sure = "; ".join(f"{text} {key[2]}" if key[2] else "yes" for key, text in here.items() if key in clear)
        said.append(f"{run.label(domain)}, {what}: {spread}. Told apart: {sure or 'no'}.")
    return said
