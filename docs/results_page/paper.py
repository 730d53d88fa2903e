"""Beside the paper: its settings, its figures, and random maps of RockSample."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING

from results_page.literature import PEERS, published_figures
from results_page.text import after, beside, figure, in_words, less, searched, span, table

from airoas.experiments.analysis.statistics import estimate, holm
from airoas.experiments.analysis.summary import groups, returns
from airoas.experiments.analysis.table import probability

if TYPE_CHECKING:
    from results import Run

UNKNOWN = {
    "tag": "the paper does not name its opponent",
    "tag-modified": "the paper does not name its opponent",
    "laser-tag-random": "the paper's maps are not known",
    "rock-sample-random-11-11": "the paper's maps are not known",
    "rock-sample-random-15-15": "the paper's maps are not known",
}
"""Domains where the paper's worlds may be others, and why."""
FIXED = {"rock-sample-random-11-11": "rock-sample-11-11", "rock-sample-random-15-15": "rock-sample-15-15"}
"""The map of the literature to each family of maps."""


def untuned(run: Run, theirs: Run) -> str:
    """What planners earn with our defaults and with the paper's settings, on the domains that both experiments have."""
    ours, published, rows, better = run.less_luck(), theirs.less_luck(), [], []
    for domain in (domain for domain in run.spec.domains if domain in theirs.spec.domains):
        for label in ("airoas", *PEERS, "pomcpow", "pomcp"):
            first, second = ours.earned(domain, label), published.earned(domain, label)
            shown = [beside(each, each.cell(domain, label), known) for each, known in ((ours, first), (published, second))]
            rows.append([run.label(domain), label, *shown])
            if second.mean - first.mean > 1.96 * math.hypot(first.sem, second.sem):
                better.append(f"{label} on {run.label(domain)} ({second.mean:.2f} in place of {first.mean:.2f})")
    said = [f"Better with the paper's settings than with our defaults, by more than two standard errors: {'; '.join(better) or 'none'}."]
    for each, other in ((run, theirs), (theirs, run)):
        said += in_words(each, (cell for cell in each.spec.cells if cell.domain in other.spec.domains))
    return after(table("domain | planner | our defaults | the paper's settings", rows), said)


def paper(run: Run, literature: Run) -> str:
    rows, said, fair, fixed = [], [], run.less_luck(), literature.less_luck()
    for domain, published in run.spec.reference.items():
        for label in dict.fromkeys(cell.label for cell in run.spec.cells):
            mean, sem = published[label.split("-")[0]]
            earned, known = run.earned(domain, label), fair.earned(domain, label)
            gap = "-" if known.groups < 2 else less(known, (mean, sem))
            shown = [figure(earned, count=True), figure(known), searched(run.done(run.cell(domain, label)).values())]
            rows.append([run.label(domain), label, *shown, f"{mean:.2f} ± {sem:.2f}", gap])
        said.append(f"**{run.label(domain)}.** {_settings(fair, domain)}{_other_worlds(fixed, domain, published['airoas'])}")
    header = "domain | planner | here, a fiftieth of the time (n) | without luck | trials, share without | paper | without luck - paper"
    return after(table(header, rows), said + in_words(run, run.spec.cells))


def _settings(run: Run, domain: str) -> str:
    """Sentences on AIROAS with the paper's settings, as printed and with our defaults, on the same worlds."""
    ours, printed, defaults = (run.earned(domain, label) for label in ("airoas", "airoas-printed", "airoas-defaults"))
    if ours.groups < 2:
        return "Not run yet."
    text = f"With the paper's settings AIROAS earns {figure(ours)} in a fiftieth of its time, as printed {figure(printed)}"
    gain = run.gain(domain, "airoas-defaults", "airoas")
    if gain.groups > 1:
        text += f"; our defaults {figure(defaults)} on the same worlds, a difference of {gain.mean:+.2f} {span(gain.low, gain.high)}"
    return f"{text}."


def _other_worlds(fixed: Run, domain: str, published: tuple[float, float | None]) -> str:
    """Why a figure of the paper may be one of other worlds, and what the map of the literature says to that."""
    text = f" Not comparable: {UNKNOWN[domain]}." if domain in UNKNOWN else ""
    if domain in FIXED and (known := fixed.earned(FIXED[domain], "airoas")).groups > 1:
        far = abs(known.mean - published[0]) / math.hypot(known.sem, published[1] or 0.0)
        word = "agrees with it, so that the fixed map is the obvious guess" if far < 1.96 else f"is {far:.1f} standard errors from it"
        text += f" On the fixed map of the literature our defaults earn {figure(known)}; the paper's {published[0]:.2f} {word}."
    return text


def hundredth(run: Run) -> str:
    published, fair, rows, found = published_figures(), run.less_luck(), [], []
    for cell in run.spec.parts[1].cells:
        known, (mean, sem) = returns(list(fair.done(cell).values())), published[cell.domain]["airoas"]
        found.append(math.erfc(abs(known.mean - mean) / math.hypot(known.sem, sem or 0.0) / math.sqrt(2.0)))
    for cell, p in zip(run.spec.parts[1].cells, holm(found), strict=True):
        mean, sem = published[cell.domain]["airoas"]
        plain, known = (returns(list(each.done(cell).values())) for each in (run, fair))
        shown = [str(plain.n), figure(plain), figure(known), searched(run.done(cell).values()), f"{mean:.2f} ± {sem:.2f}"]
        if known.groups < 2:
            rows.append([run.label(cell.domain), *shown, "-", "-", "too few" if known.n else "not run yet"])
            continue
        above = "not shown" if p >= 0.05 or known.mean <= mean else "yes"
        above += f", but {UNKNOWN[cell.domain]}" if cell.domain in UNKNOWN and above == "yes" else ""
        rows.append([run.label(cell.domain), *shown, less(known, (mean, sem)), probability(p), above])
    header = "domain | n | 0.01 s, return ± SE | without luck | trials, share without | paper, 5 s | without luck - paper, both errors"
    return after(table(f"{header} | p (Holm) | above the paper", rows), in_words(run, run.spec.parts[1].cells))


def rocks(run: Run) -> str:
    file = Path(__file__).parents[1] / "results" / "rock-bounds.csv"
    with open(file, newline="") as lines:
        bounds = {(row["domain"], int(row["map"])): float(row["bound"]) for row in csv.DictReader(lines)}
    run, rows = run.less_luck(), []
    for domain in (name for name in run.spec.domains if "rock" in name):
        for label in ("airoas-defaults", "airoas", "adaops", "ardespot"):
            done = list(run.done(run.cell(domain, label)).values())
            done = [row for row in done if (domain, row["map"]) in bounds] or done
            known, bound = returns(done), estimate([bounds.get((domain, row["map"]), math.nan) for row in done], groups(done))
            mean, sem = run.spec.reference[domain][label.split("-")[0]]
            said = ["not computed yet", "-", f"{mean:.2f} ± {sem:.2f}"]
            trials = searched(done)
            if not math.isnan(bound.mean):
                place = "above this bound" if mean > bound.mean else "below it"
                said = [figure(bound), f"{100 * known.mean / bound.mean:.0f} %", f"{said[2]}, {place}"]
            rows.append([run.label(domain), label, str(len({row["map"] for row in done})), figure(known), trials, *said])
    header = "domain | planner | maps | return without luck ± SE | trials, share without | proved bound, same maps | share"
    cells = [cell for cell in run.spec.cells if "rock" in cell.domain]
    return after(table(f"{header} | paper, maps not known", rows), in_words(run, cells))
