"""Beside the paper: its settings, its returns, and random maps of RockSample."""

from __future__ import annotations

import csv
import math

from airoas.experiments.analysis.statistics import estimate, holm, less_published
from airoas.experiments.analysis.summary import map_numbers, returns
from airoas.experiments.analysis.table import probability
from airoas.experiments.spec.cells import Published
from tools.results_page.literature import PEERS, published_returns
from tools.results_page.run import Run
from tools.results_page.text import after, hindrances, less, published_with_error, searched, span, table, with_error, with_search
from tools.rock_bounds import FILE as ROCK_BOUNDS

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
    ours, papers, rows, better = run.adjusted(), theirs.adjusted(), [], []
    for domain in (domain for domain in run.spec.domains if domain in theirs.spec.domains):
        for label in ("airoas", *PEERS, "pomcpow", "pomcp"):
            first, second = ours.earned(domain, label), papers.earned(domain, label)
            shown = [with_search(each, each.cell(domain, label), known) for each, known in ((ours, first), (papers, second))]
            rows.append([run.label(domain), label, *shown])
            if second.mean - first.mean > 1.96 * math.hypot(first.sem, second.sem):
                better.append(f"{label} on {run.label(domain)} ({second.mean:.2f} in place of {first.mean:.2f})")
    words = "Better with the paper's settings than with our defaults, by more than two standard errors"
    sentences = [f"{words}: {'; '.join(better) or 'none'}."]
    for each, other in ((run, theirs), (theirs, run)):
        sentences += hindrances(each, (cell for cell in each.spec.cells if cell.domain in other.spec.domains))
    return after(table("domain | planner | our defaults | the paper's settings", rows), sentences)


def paper(run: Run, literature: Run) -> str:
    rows, sentences, adjusted, fixed = [], [], run.adjusted(), literature.adjusted()
    for domain, published in run.spec.reference.items():
        for label in dict.fromkeys(cell.label for cell in run.spec.cells):
            theirs = published[label.split("-")[0]]
            earned, known = run.earned(domain, label), adjusted.earned(domain, label)
            gap = "-" if known.groups < 2 else less(known, theirs)
            shown = [with_error(earned, count=True), with_error(known), searched(run.done(run.cell(domain, label)))]
            rows.append([run.label(domain), label, *shown, published_with_error(theirs), gap])
        sentences.append(f"**{run.label(domain)}.** {_settings(adjusted, domain)}{_other_worlds(fixed, domain, published['airoas'])}")
    header = "domain | planner | here, a fiftieth of the time (n) | adjusted | trials, share without | paper | adjusted - paper"
    return after(table(header, rows), sentences + hindrances(run, run.spec.cells))


def _settings(run: Run, domain: str) -> str:
    """Sentences on AIROAS with the paper's settings, as printed and with our defaults, on the same worlds."""
    ours, printed, defaults = (run.earned(domain, label) for label in ("airoas", "airoas-printed", "airoas-defaults"))
    if ours.groups < 2:
        return "Not run yet."
    text = f"With the paper's settings AIROAS earns {with_error(ours)} in a fiftieth of its time, as printed {with_error(printed)}"
    gain = run.gain(domain, "airoas-defaults", "airoas")
    if gain.groups > 1:
        words = f"our defaults {with_error(defaults)} on the same worlds"
        text += f"; {words}, a difference of {gain.mean:+.2f} {span(gain.low, gain.high)}"
    return f"{text}."


def _other_worlds(fixed: Run, domain: str, published: Published) -> str:
    """Why a return of the paper may be one of other worlds, and what the map of the literature says to that."""
    text = f" Not comparable: {UNKNOWN[domain]}." if domain in UNKNOWN else ""
    if domain in FIXED and (known := fixed.earned(FIXED[domain], "airoas")).groups > 1:
        gap, error, _ = less_published(known, published)
        far = abs(gap) / error
        word = "agrees with it, so that the fixed map is the obvious guess" if far < 1.96 else f"is {far:.1f} standard errors from it"
        text += f" On the fixed map of the literature our defaults earn {with_error(known)}; the paper's {published[0]:.2f} {word}."
    return text


def hundredth(run: Run) -> str:
    published, adjusted, rows = published_returns(), run.adjusted(), []
    cells = run.spec.parts[1].cells
    p_values = holm([less_published(returns(adjusted.done(cell)), published[cell.domain]["airoas"])[2] for cell in cells])
    for cell, p in zip(cells, p_values, strict=True):
        theirs = published[cell.domain]["airoas"]
        plain, known = (returns(each.done(cell)) for each in (run, adjusted))
        shown = [str(plain.n), with_error(plain), with_error(known), searched(run.done(cell)), published_with_error(theirs)]
        if known.groups < 2:
            rows.append([run.label(cell.domain), *shown, "-", "-", "too few" if known.n else "not run yet"])
            continue
        above = "not shown" if p >= 0.05 or known.mean <= theirs[0] else "yes"
        above += f", but {UNKNOWN[cell.domain]}" if cell.domain in UNKNOWN and above == "yes" else ""
        rows.append([run.label(cell.domain), *shown, less(known, theirs), probability(p), above])
    header = "domain | n | 0.01 s, return ± SE | adjusted | trials, share without | paper, 5 s | adjusted - paper, both errors"
    return after(table(f"{header} | p (Holm) | above the paper", rows), hindrances(run, cells))


def rocks(run: Run) -> str:
    with open(ROCK_BOUNDS, newline="") as lines:
        bounds = {(row["domain"], int(row["map"])): float(row["bound"]) for row in csv.DictReader(lines)}
    run, rows = run.adjusted(), []
    for domain in (name for name in run.spec.domains if "rock" in name):
        for label in ("airoas-defaults", "airoas", "adaops", "ardespot"):
            done = run.done(run.cell(domain, label))
            done = [row for row in done if (domain, row["map"]) in bounds] or done
            on_map = [math.nan if row["map"] is None else bounds.get((domain, row["map"]), math.nan) for row in done]
            known, bound = returns(done), estimate(on_map, map_numbers(done))
            theirs = run.spec.reference[domain][label.split("-")[0]]
            shown = ["not computed yet", "-", published_with_error(theirs)]
            if not math.isnan(bound.mean):
                side = "above this bound" if theirs[0] > bound.mean else "below it"
                shown = [with_error(bound), f"{100 * known.mean / bound.mean:.0f} %", f"{shown[2]}, {side}"]
            rows.append([run.label(domain), label, str(len({row["map"] for row in done})), with_error(known), searched(done), *shown])
    header = "domain | planner | maps | adjusted return ± SE | trials, share without | proved bound, same maps | share"
    cells = [cell for cell in run.spec.cells if "rock" in cell.domain]
    return after(table(f"{header} | paper, maps not known", rows), hindrances(run, cells))
