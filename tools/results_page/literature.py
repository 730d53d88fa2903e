"""What planners earn with their defaults: the tables of `airoas bench literature`."""

from __future__ import annotations

import math

from airoas.experiments.analysis.statistics import holm, holm_limits
from airoas.experiments.analysis.summary import summarise
from airoas.experiments.analysis.table import probability
from airoas.experiments.spec.cells import Published
from airoas.experiments.spec.reading import parse, shipped
from tools.results_page.run import Run
from tools.results_page.text import SURE, after, hindrance, hindrances, less, marked, searched, span, table, with_error, with_search

TARGETS = {
    "light-dark-1.0": (3.8, 4.1),
    "light-dark-0.5": (2.7, 3.0),
    "tag": (-6.6, -6.0),
    "tag-modified": (-11.5, -10.7),
    "laser-tag": (-8.7, -8.0),
    "laser-tag-2": (-8.7, -8.0),
    "rock-sample-11-11": (20.5, 22.5),
    "rock-sample-15-15": (21.0, 23.0),
}
"""Returns to reach at 0.1 s a move: at least, and as an aim."""
ENOUGH = 100
"""Episodes that a verdict needs."""
SOME = 40
"""Episodes that README's table needs; what has fewer is left out."""
BLIND = {"light": 0.0, "tag": -20.0, "laser": -20.0, "rock-sample-11": 10.0 * 0.95**10, "rock-sample-15": 10.0 * 0.95**14}
"""What an open-loop plan earns: never stopping, walking for ever, leaving at once. With the proved bound it spans the values."""
PEERS = {"adaops": "AdaOPS", "ardespot": "AR-DESPOT"}


def targets(run: Run) -> str:
    """A target is reached where the whole 95 % interval of the mean adjusted return is at or above it, missed where it is below."""
    rows: list[list[str]] = []
    verdicts: dict[str, list[str]] = {"at least": [], "aim": []}
    generous = {"at least": 0, "aim": 0}
    for domain, wanted in TARGETS.items():
        cell = run.cell(domain, "airoas")
        done, plain, known = run.done(cell), run.earned(domain, "airoas"), run.adjusted().earned(domain, "airoas")
        goals = []
        for (name, words), value in zip(verdicts.items(), wanted, strict=True):
            word = "too few" if known.n < ENOUGH else "reached" if known.low >= value else "missed" if known.high < value else "open"
            words.append(word)
            generous[name] += known.n >= ENOUGH and known.mean + known.sem >= value
            goals.append(f"{value:g}, {word}" if done else f"{value:g}")
        whole = summarise(domain, "airoas", done)
        times = [f"{1e3 * x:.{d}f}" for x, d in ((whole.plan_seconds_mean, 1), (whole.plan_seconds_max, 1), (whole.update_seconds_mean, 2))]
        count = str(len(done)) if len(done) == len(cell.seeds) else f"{len(done)} of {len(cell.seeds)}"
        bound = run.spec.domains[domain].upper_bound
        earned = [with_error(plain), with_error(known) if run.has_adjusted else "-", span(known.low, known.high)]
        shown = [f"{100 * whole.wrong_stop:.1f} %", searched(done), *times] if done else ["not run yet"] * 5
        rows.append([run.label(domain), count, *earned, *goals, "-" if bound is None else marked(f"{bound:g}", domain), *shown])
    header = "domain | n | return ± SE | adjusted ± SE | its 95 % interval | at least | aim | proved bound | wrong stops"
    header += " | trials, share without | plan ms, mean | longest | update ms, mean"
    counts = [
        f"“{name}” is reached in {words.count('reached')} of {len(rows)} rows, open in {words.count('open')},"
        f" missed in {words.count('missed')}. A mean plus one standard error, which rewards noise, would make {generous[name]} of it."
        for name, words in verdicts.items()
    ]
    return after(table(header, rows), counts + hindrances(run, (run.cell(domain, "airoas") for domain in TARGETS)))


def planners(run: Run) -> str:
    labels = list(dict.fromkeys(cell.label for cell in run.spec.cells))
    rows = []
    for domain in TARGETS:
        fitting = {cell.label for cell in run.spec.cells if cell.domain == domain}
        elsewhere = max(run.spec.reference.get(domain, {"-": (-math.inf, None)}).items(), key=lambda pair: pair[1][0])
        best = "-" if elsewhere[0] == "-" else marked(f"{elsewhere[1][0]:g}, {elsewhere[0]}", elsewhere[0])
        earned = [
            with_search(run, run.cell(domain, label), run.earned(domain, label)) if label in fitting else "does not fit" for label in labels
        ]
        rows.append([run.label(domain), *earned, best])
    return after(table(f"domain | {' | '.join(labels)} | best from elsewhere", rows), hindrances(run, run.spec.cells))


def few(run: Run) -> str:
    """README's table: adjusted returns of planners that search, by domains."""
    run = run.adjusted()
    names = {"airoas": "AIROAS", **PEERS, "pomcpow": "POMCPOW", "pomcp": "POMCP"}
    domains = [domain for domain in TARGETS if run.earned(domain, "airoas").n >= SOME]
    rows = []
    for label, name in names.items():
        shown = []
        for domain in domains:
            known, words = run.earned(domain, label), hindrance(run, run.cell(domain, label))
            shown.append(with_error(known, count=True) + (f", {words}" if words else "") if known.n >= SOME else "still to run")
        rows += [[name, *shown]] if set(shown) != {"still to run"} else []
    return table(" | ".join(("planner", *map(run.label, domains))), rows)


def adjusted(run: Run) -> str:
    """Adjusted returns of all planners, by domains."""
    known = run.adjusted()
    cells = {(cell.domain, cell.label): cell for cell in run.spec.cells}
    labels = dict.fromkeys(label for domain, label in cells if known.earned(domain, label).n) if run.has_adjusted else {}
    if not labels:
        return "Not worked out yet. `airoas table results/literature --adjusted` does it."
    rows = []
    for domain in TARGETS:
        row = [cells.get((domain, label)) for label in labels]
        shown = [with_search(known, cell, known.earned(domain, cell.label)) if cell else "does not fit" for cell in row]
        before, after_ = run.earned(domain, "airoas"), known.earned(domain, "airoas")
        stands_for = f"{(before.sem / after_.sem) ** 2 * after_.n / before.n:.0f}" if after_.n >= SOME else "-"
        rows.append([run.label(domain), *shown, stands_for])
    header = f"domain | {' | '.join(labels)} | episodes that one of AIROAS's stands for"
    return after(table(header, rows), hindrances(run, run.spec.cells))


def against(run: Run) -> str:
    pairs = [(domain, other) for domain in TARGETS for other in PEERS]
    gains = [run.adjusted().gain(domain, "airoas", other) for domain, other in pairs]
    ranges = []
    for domain, _ in pairs:
        bound = run.spec.domains[domain].upper_bound
        assert bound is not None
        ranges.append(bound - next(value for start, value in BLIND.items() if domain.startswith(start)))
    limits = holm_limits(gains, [0.05 * whole for whole in ranges])
    rows, low, clear = [], [], []
    for (domain, other), gain, whole, (least, most), p in zip(pairs, gains, ranges, limits, holm([gain.p for gain in gains]), strict=True):
        if math.isnan(least):
            rows.append([run.label(domain), other, str(gain.n), *["too few" if gain.n else "not run yet"] * 7])
            continue
        relative = f"{100 * gain.mean / whole:+.1f} [{100 * least / whole:+.1f}, {100 * most / whole:+.1f}]"
        trials = [searched(run.done(run.cell(domain, label))) for label in ("airoas", other)]
        withdrawn = any(hindrance(run, run.cell(domain, label)) for label in ("airoas", other))
        verdict = ["withdrawn"] * 2 if withdrawn else [probability(p), "yes" if least > -0.05 * whole else "no"]
        rows.append([run.label(domain), other, str(gain.n), with_error(gain), span(least, most), relative, *trials, *verdict])
        low += [f"{run.label(domain)} against {other}"] if verdict[1] == "no" else []
        clear += [(run.label(domain), other, gain.mean)] if p < 0.05 and not withdrawn else []
    header = "domain | AIROAS less | pairs | difference ± SE | limits (Holm) | % of the range, with limits"
    header += " | AIROAS: trials, share without | the other's | p (Holm) | above -5 %"
    missing = sum(math.isnan(least) for least, _ in limits)
    sentences = hindrances(run, (run.cell(domain, label) for domain in TARGETS for label in ("airoas", *PEERS)))
    sentences += [f"Not shown to be above -5 %: {'; '.join(low)}."] if low else []
    sentences += [f"{missing} of {len(rows)} rows are still to run."] if missing else []
    for word, sign in (("more", 1), ("less", -1)):
        names = [f"{domain} ({other}, {mean:+.2f})" for domain, other, mean in clear if sign * mean > 0]
        sentences.append(f"With the defaults of both, AIROAS earns {word}, {SURE}, on: {'; '.join(names) or 'no domain'}.")
    sentences.append("That AIROAS is the better planner is not shown by any row: only its own defaults were tuned.")
    return after(table(header, rows), sentences)


def yardstick(run: Run) -> str:
    """Adjusted returns, ours and the paper's, less the same references."""
    published, known, rows = published_returns(), run.adjusted(), []
    labels = ("airoas", *PEERS)
    for domain in TARGETS:
        for name, (mean, sem) in run.spec.reference.get(domain, {}).items():
            shown = [
                f"{less(known.earned(domain, label), (mean, sem))}; {searched(run.done(run.cell(domain, label)))}"
                if known.earned(domain, label).groups > 1
                else "not run yet"
                for label in labels
            ]
            paper = "other worlds"
            if domain in published:
                theirs, error = published[domain]["airoas"]
                paper = f"{theirs - mean:+.2f} ± {math.hypot(error or 0.0, sem or 0.0):.2f}"
            reference = marked(f"{name}, {mean:.2f}{f' ± {sem:.2f}' if sem else ''}", name)
            rows.append([run.label(domain), reference, *shown, paper])
    sentences = hindrances(run, (run.cell(domain, label) for domain in TARGETS for label in labels))
    for domain in (cell.domain for cell in run.spec.cells if cell.label == "pbvi"):
        gain, alone = known.gain(domain, "airoas", "pbvi"), known.earned(domain, "pbvi")
        if gain.groups > 1:
            words = f"PBVI alone, whose plans are AIROAS's lower bound there, earns {with_error(alone)} without any search"
            more = f"AIROAS less PBVI: {gain.mean:+.3f} ± {gain.sem:.3f}. So this domain hardly tests a search."
            sentences.append(f"{run.label(domain)}: {words}. {more}")
    header = "domain | reference | AIROAS here less it; trials, share without | AdaOPS here | AR-DESPOT here | the paper's AIROAS"
    return after(table(header, rows), sentences)


def published_returns() -> dict[str, dict[str, Published]]:
    """The paper's table."""
    return parse(shipped("paper"), check=False).reference
