"""Make docs/results.md and README's table from the rows under results/: `python docs/results.py`.

Puts the tables and sentences between their marks in the page, and the pictures into docs/results/. What has not been run is
said to be so, with the command that runs it.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from airoas.experiments import plot
from airoas.experiments.play import Row
from airoas.experiments.reading import of_folder, parse
from airoas.experiments.spec import Cell, Spec
from airoas.experiments.statistics import Estimate, estimate, holm, holm_limits
from airoas.experiments.store import SPEC, latest
from airoas.experiments.summary import groups, returns
from airoas.experiments.table import differences, probability

ROOT = Path(__file__).parents[1]
PAGE, README = Path(__file__).parent / "results.md", ROOT / "README.md"
COMMANDS = {
    "literature": "airoas bench literature --out results/literature --jobs 2",
    "paper": "airoas bench paper --scale episodes=0.1,seconds=0.02,iterations=0.1 --out results/paper --jobs 2",
    "budgets": "airoas bench results/budgets.toml --out results/budgets --jobs 2",
    "factorial": "airoas bench ablation --only factorial --out results/factorial --jobs 2",
}
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
"""What a plan without eyes earns: never stopping, walking for ever, leaving at once. With the proved bound it spans the values."""
NAMES = {"anneal": "tree", "filter": "filter", "filter_particles": "particles", "seconds": "seconds"}
"""What is varied, in words."""
SURE = "beyond doubt (p below 0.05 after Holm)"
REMARKS = {
    "light-dark-0.5": "A rule with two constants earns 2.80 here: the paper's figures are all below it.",
    "light-dark-1.0": "A rule with two constants earns 4.01 here: the paper's figures are all below it.",
    "tag": "The paper does not name its opponent: what agrees here and not below speaks for this one. Offline, -6.07 is reached.",
    "tag-modified": "Offline, -10.76 is reached against this opponent, less than the paper's figure: it was hardly this one.",
    "laser-tag-random": "The paper's maps are not known; ours are drawn anew.",
    "rock-sample-random-11-11": "The paper's maps are not known: see the bound below.",
    "rock-sample-random-15-15": "The paper's maps are not known: see the bound below.",
}


class Run(NamedTuple):
    """The folder of an experiment."""

    command: str
    spec: Spec
    rows: dict[str, Row]
    luck: dict[str, float]
    """What episodes earned less their luck (`docs/luck.py`), by id."""

    def less_luck(self) -> Run:
        """The run with these in place of returns; without the episodes that have none. Where no episode of a domain has one, they stay."""
        domains = {row["domain"] for key, row in self.rows.items() if key in self.luck}
        kept = {key: row for key, row in self.rows.items() if row["domain"] not in domains}
        return self._replace(rows=kept | {key: self.rows[key] | {"discounted_return": value} for key, value in self.luck.items()})

    def cell(self, domain: str, label: str) -> Cell:
        return next(cell for cell in self.spec.cells if (cell.domain, cell.label) == (domain, label))

    def done(self, cell: Cell) -> dict[int, Row]:
        """The finished episodes of a cell by seed."""
        return {seed: self.rows[key] for key, seed in cell.ids.items() if key in self.rows and "error" not in self.rows[key]}

    def earned(self, domain: str, label: str) -> Estimate:
        return returns(list(self.done(self.cell(domain, label)).values()))

    def gain(self, domain: str, first: str, second: str) -> Estimate:
        """first - second, seed by seed."""
        ours, theirs = (self.done(self.cell(domain, label)) for label in (first, second))
        seeds = sorted(ours.keys() & theirs.keys())
        gains = [ours[seed]["discounted_return"] - theirs[seed]["discounted_return"] for seed in seeds]
        return estimate(gains, groups([ours[seed] for seed in seeds]))

    def label(self, domain: str) -> str:
        return self.spec.domains[domain].label

    def told(self) -> str:
        """Where the figures come from."""
        wanted = {key for cell in self.spec.cells for key in cell.ids}
        there = [row for key, row in self.rows.items() if key in wanted]
        failed = sum("error" in row for row in there)
        days = sorted(row["times"]["started"][:10] for row in there if "started" in row["times"]) or ["unknown"]
        made = sorted({f"airoas {row['version']} on {row['machine']['cpu']}" for row in there})
        much = f"{len(there)} episodes" if len(there) == len(wanted) else f"not finished, {len(there)} of {len(wanted)} episodes"
        failures = f", {failed} of them failed and are in no mean" if failed else ""
        return f"`{self.command}`: {much}{failures}; {days[0]} to {days[-1]}, {', '.join(made)}."


def table(header: str, rows: Iterable[Iterable[str]]) -> str:
    rules = " | ".join(["---"] + ["---:"] * header.count("|"))
    return "\n".join(f"| {line} |" for line in (header, rules, *map(" | ".join, rows)))


def figure(known: Estimate, count: bool = False) -> str:
    """Mean and standard error, and where `count` says so the number of episodes."""
    error = "" if math.isnan(known.sem) else f" ± {known.sem:.2f}"
    return "not run yet" if known.n == 0 else f"{known.mean:.2f}{error}{f' ({known.n})' if count else ''}"


def span(low: float, high: float) -> str:
    return "-" if math.isnan(low) else f"[{low:.2f}, {high:.2f}]"


def bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def targets(run: Run) -> str:
    rows, lucky, reached = [], [], {"at least": 0, "aim": 0}
    without = run.less_luck()
    for domain, (least, aim) in TARGETS.items():
        cell = run.cell(domain, "airoas")
        done, known = run.done(cell), run.earned(domain, "airoas")
        said, wanted = {}, {"at least": least, "aim": aim}
        for name, value in wanted.items():
            verdict = "too few" if known.n < ENOUGH else "yes" if known.mean + known.sem >= value else "no"
            said[name] = f"{value:g}, {verdict}" if done else f"{value:g}"
            reached[name] += verdict == "yes"
        plan, update = ([1e3 * x for row in done.values() for x in row["times"].get(key, ())] for key in ("plan", "update"))
        times = ["not kept" if done else "not run yet"] * 3
        if plan:
            times = [f"{np.quantile(plan, q):.1f}" for q in (0.5, 0.99)] + [f"{np.mean(update):.2f}"]
        count = str(len(done)) if len(done) == len(cell.seeds) else f"{len(done)} of {len(cell.seeds)}"
        bound = run.spec.domains[domain].upper_bound
        wrong = f"{100 * np.mean([row['wrong_stop'] for row in done.values()]):.1f} %" if done else "not run yet"
        fair = without.earned(domain, "airoas") if run.luck else estimate([])
        earned = [figure(known), span(known.low, known.high), figure(fair) if fair.n else "-", wrong]
        for name, value in wanted.items():
            by_luck, truly = (one.mean + one.sem >= value for one in (known, fair))
            if fair.n >= ENOUGH and by_luck != truly:
                lucky.append(f"{run.label(domain)} ({name} {value:g}: {'' if truly else 'not '}reached)")
        rows.append([run.label(domain), count, *earned, *said.values(), "-" if bound is None else f"{bound:g}", *times])
    header = "domain | n | return ± SE | 95 % interval | without luck | wrong stops | at least | aim | proved bound"
    header += " | plan ms p50 | p99 | update ms, mean"
    counts = f"Reached, counting one standard error: “at least” in {reached['at least']} of {len(rows)} rows, the aim in {reached['aim']}."
    counts += f" Without luck the verdict is another on {'; '.join(lucky)}." if lucky else ""
    return f"{table(header, rows)}\n\n{counts}"


def planners(run: Run) -> str:
    labels = list(dict.fromkeys(cell.label for cell in run.spec.cells))
    rows = []
    for domain in TARGETS:
        there = {cell.label for cell in run.spec.cells if cell.domain == domain}
        elsewhere = max(run.spec.reference.get(domain, {"-": (-math.inf, None)}).items(), key=lambda pair: pair[1][0])
        best = "-" if elsewhere[0] == "-" else f"{elsewhere[1][0]:g}, {elsewhere[0]}"
        earned = (figure(run.earned(domain, label), count=True) if label in there else "does not fit" for label in labels)
        rows.append([run.label(domain), *earned, best])
    return table(f"domain | {' | '.join(labels)} | best from elsewhere", rows)


def few(run: Run) -> str:
    """README's table: planners that search, by domains, without luck."""
    run = run.less_luck()
    names = {"airoas": "AIROAS", "adaops": "AdaOPS", "ardespot": "AR-DESPOT", "pomcpow": "POMCPOW", "pomcp": "POMCP"}
    domains = [domain for domain in TARGETS if run.earned(domain, "airoas").n >= SOME]
    rows = []
    for label, name in names.items():
        earned = [run.earned(domain, label) for domain in domains]
        if any(known.n >= SOME for known in earned):
            rows.append([name, *(figure(known, count=True) if known.n >= SOME else "still to run" for known in earned)])
    return table(" | ".join(("planner", *map(run.label, domains))), rows)


def luck(run: Run) -> str:
    """What planners earned less luck, by domains."""
    fair = run.less_luck()
    there = dict.fromkeys((cell.domain, cell.label) for cell in run.spec.cells)
    labels = dict.fromkeys(label for domain, label in there if fair.earned(domain, label).n) if run.luck else {}
    if not labels:
        return "Not worked out yet. `python docs/luck.py` does it."
    rows = []
    for domain in TARGETS:
        known = [figure(fair.earned(domain, label), count=True) if (domain, label) in there else "does not fit" for label in labels]
        ours, theirs = run.earned(domain, "airoas"), fair.earned(domain, "airoas")
        stands = f"{(ours.sem / theirs.sem) ** 2 * theirs.n / ours.n:.0f}" if theirs.n >= SOME else "-"
        rows.append([run.label(domain), *known, stands])
    return table(f"domain | {' | '.join(labels)} | episodes that one of AIROAS's stands for", rows)


def against(run: Run) -> str:
    pairs = [(domain, other) for domain in TARGETS for other in ("adaops", "ardespot")]
    fair = run.less_luck()
    gains = [fair.gain(domain, "airoas", other) for domain, other in pairs]
    ranges = []
    for domain, _ in pairs:
        bound = run.spec.domains[domain].upper_bound
        assert bound is not None
        ranges.append(bound - next(value for start, value in BLIND.items() if domain.startswith(start)))
    limits = holm_limits(gains, [0.05 * whole for whole in ranges])
    rows, low = [], []
    for (domain, other), gain, whole, (least, most), p in zip(pairs, gains, ranges, limits, holm([gain.p for gain in gains]), strict=True):
        if math.isnan(least):
            rows.append([run.label(domain), other, str(gain.n), *["too few" if gain.n else "not run yet"] * 5])
            continue
        share = f"{100 * gain.mean / whole:+.1f} [{100 * least / whole:+.1f}, {100 * most / whole:+.1f}]"
        rows.append([run.label(domain), other, str(gain.n), figure(gain), span(least, most), share, probability(p)])
        rows[-1].append("yes" if least > -0.05 * whole else "no")
        low += [f"{run.label(domain)} against {other}"] if least <= -0.05 * whole else []
    header = "domain | AIROAS less | pairs | difference ± SE | limits (Holm) | % of the range, with limits | p (Holm) | above -5 %"
    missing = sum(math.isnan(least) for least, _ in limits)
    clear = [(row[0], row[1], gain.mean) for row, gain, p in zip(rows, gains, holm([g.p for g in gains]), strict=True) if p < 0.05]
    said = [f"Not shown to be above -5 %: {'; '.join(low)}." if low else "Every lower limit that there is lies above -5 % of the range."]
    said += [f"{missing} of {len(rows)} rows are still to run."] if missing else []
    for word, sign in (("better", 1), ("worse", -1)):
        names = [f"{domain} ({other}, {mean:+.2f})" for domain, other, mean in clear if sign * mean > 0]
        said.append(f"AIROAS is {word} {SURE}: {'; '.join(names) or 'nowhere'}.")
    return f"{table(header, rows)}\n\n{bullets(said)}"


def paper(run: Run) -> str:
    rows, said, fair = [], [], run.less_luck()
    for domain, published in run.spec.reference.items():
        for label in dict.fromkeys(cell.label for cell in run.spec.cells):
            mean, sem = published[label.split("-")[0]]
            earned, known = run.earned(domain, label), fair.earned(domain, label)
            gap = "-" if known.groups < 2 else f"{known.mean - mean:+.2f} ± {math.hypot(known.sem, sem or 0.0):.2f}"
            rows.append([run.label(domain), label, figure(earned, count=True), figure(known), f"{mean:.2f} ± {sem:.2f}", gap])
        said.append(f"**{run.label(domain)}.** {_gap(fair, domain, published)} {REMARKS[domain]}")
    header = "domain | planner | here, a fiftieth of the time (n) | without luck | paper | here without luck - paper"
    return f"{table(header, rows)}\n\n{bullets(said)}"


def _gap(run: Run, domain: str, published: dict[str, tuple[float, float | None]]) -> str:
    """Sentences on what is earned here and in the paper."""
    ours, printed, bounds = (run.earned(domain, label) for label in ("airoas", "airoas-printed", "airoas-defaults"))
    if ours.groups < 2:
        return "Not run yet."
    near = []
    for label, (mean, sem) in published.items():
        known = run.earned(domain, label)
        near += [label] if abs(known.mean - mean) < 1.96 * math.hypot(known.sem, sem or 0.0) else []
    gap, far = ours.mean - published["airoas"][0], "no more than chance explains" if "airoas" in near else "more than chance explains"
    text = f"With the paper's settings AIROAS earns {figure(ours)}, {abs(gap):.2f} {'above' if gap > 0 else 'below'} its figure, {far}"
    text += f"; as printed {figure(printed)}"
    gain = run.gain(domain, "airoas-defaults", "airoas")
    if gain.groups > 1:
        text += f". Our defaults earn {figure(bounds)} on the same worlds, a difference of {gain.mean:+.2f} {span(gain.low, gain.high)}"
    others = [label for label in near if label != "airoas"]
    return f"{text}. Of the others, as near to the paper as chance explains: {', '.join(others) or 'none'}."


def hundredth(run: Run) -> str:
    text = (resources.files("airoas.experiments") / "paper.toml").read_text(encoding="utf-8")
    published = parse(text, check=False).reference
    rows = []
    for cell in run.spec.parts[1].cells:
        mean, sem = published[cell.domain]["airoas"]
        known = returns(list(run.done(cell).values()))
        above = "-" if known.n == 0 else "no" if known.mean <= mean else "yes" if known.low > mean else "the mean, not the interval"
        rows.append([run.label(cell.domain), str(known.n), figure(known), span(known.low, known.high), f"{mean:.2f} ± {sem:.2f}", above])
    return table("domain | n | 0.01 s, return ± SE | 95 % interval | paper, 5 s | above", rows)


def budgets(run: Run) -> str:
    part = run.spec.parts[0]
    budgets = {cell.label: f"{cell.axes['seconds']:g} s" for cell in part.cells}
    domains = dict.fromkeys(cell.domain for cell in part.cells)
    fair, rows = run.less_luck(), []
    for domain in domains:
        rows.append([run.label(domain), *(figure(run.earned(domain, label), count=True) for label in budgets)])
        if run.luck:
            rows.append([f"{run.label(domain)}, without luck", *(figure(fair.earned(domain, label)) for label in budgets)])
    compared = [r for r in differences(fair.spec, fair.rows) if r["part"] == part.name]
    picture = "![Returns against time per move](results/budgets.png)"
    return f"{table(' | '.join(('domain', *budgets.values())), rows)}\n\n{picture}\n\n{_verdict(run, compared)}"


def factorial(run: Run) -> str:
    run = run.less_luck()
    modes = list(dict.fromkeys(cell.axes["anneal"] for cell in run.spec.cells))
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for cell in sorted(run.spec.cells, key=lambda cell: list(run.spec.domains).index(cell.domain)):
        size = "-" if cell.axes["filter"] == "exact" else str(cell.axes["filter_particles"])
        row = found.setdefault((run.label(cell.domain), cell.axes["filter"], size), {})
        row[cell.axes["anneal"]] = figure(returns(list(run.done(cell).values())), count=True)
    header = ("domain", "agent's filter", "its particles", *(f"tree: {mode}" for mode in modes))
    shown = table(" | ".join(header), ([*key, *(row[mode] for mode in modes)] for key, row in found.items()))
    pictures = "\n".join(f"![{part.name}: returns](results/{part.name.replace(' ', '-')}.png)" for part in run.spec.parts)
    return f"{shown}\n\n{pictures}\n\n{_verdict(run, differences(run.spec, run.rows))}"


def _verdict(run: Run, compared: list[dict[str, Any]]) -> str:
    """In words: each kind of difference with its spread over all settings, and where it is beyond doubt."""
    known: dict[tuple[str, str, str], dict[str, Any]] = {}
    for r in compared:
        first, second = (dict(word.split("=") for word in r[key].split()[1:]) for key in ("first", "second"))
        (axis,) = (key for key in first if first[key] != second[key])
        if first.get("filter") == second.get("filter") == "exact":
            del first["filter_particles"]  # it has none: what stands here once for each size is one and the same
        rest = ", ".join(f"{NAMES[key]} {value}" for key, value in first.items() if key != axis)
        if r["p"] is not None:
            known[r["domain"], f"{NAMES[axis]} {first[axis]} less {second[axis]}", rest] = r
    if not known:
        return "Too few episodes to compare anything yet."
    clear = [key for key, p in zip(known, holm([r["p"] for r in known.values()]), strict=True) if p < 0.05]
    alone = sum(r["low"] > 0.0 or r["high"] < 0.0 for r in known.values())
    said = [f"Of {len(known)} paired differences {alone} have an interval without 0; {SURE}: {len(clear)}."]
    for domain, what in sorted({key[:2] for key in known}, key=lambda pair: (list(run.spec.domains).index(pair[0]), pair[1])):
        here = {key: f"{r['mean']:+.2f} {span(r['low'], r['high'])}" for key, r in known.items() if key[:2] == (domain, what)}
        means = [known[key]["mean"] for key in here]
        spread = f"{min(means):+.2f} to {max(means):+.2f} in {len(means)} settings" if len(means) > 1 else "".join(here.values())
        sure = "; ".join(f"{text} {key[2]}" if key[2] else "yes" for key, text in here.items() if key in clear)
        said.append(f"{run.label(domain)}, {what}: {spread}. Beyond doubt: {sure or 'no'}.")
    return bullets(said)


def rocks(run: Run) -> str:
    file = Path(__file__).parent / "results" / "rock-bounds.csv"
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
            if not math.isnan(bound.mean):
                place = "above the bound" if mean > bound.mean else "below it"
                said = [figure(bound), f"{100 * known.mean / bound.mean:.0f} %", f"{said[2]}, {place}"]
            rows.append([run.label(domain), label, str(len({row["map"] for row in done})), figure(known), *said])
    return table("domain | planner | maps | return without luck ± SE | proved bound, same maps | share | paper, other maps", rows)


SECTIONS: dict[str, tuple[str, Callable[[Run], str]]] = {
    "targets": ("literature", targets),
    "planners": ("literature", planners),
    "luck": ("literature", luck),
    "against": ("literature", against),
    "paper": ("paper", paper),
    "hundredth": ("budgets", hundredth),
    "budgets": ("budgets", budgets),
    "factorial": ("factorial", factorial),
    "rocks": ("paper", rocks),
}
IN_README: dict[str, tuple[str, Callable[[Run], str]]] = {"returns": ("literature", few)}
PICTURES = {
    "budgets": {"budgets-against-seconds": "budgets"},
    "factorial": {"factorial-returns": "factorial", "factorial-2d-returns": "factorial-2d"},
}


def runs_in(results: Path) -> dict[str, Run]:
    """What a folder of results holds."""
    found = {}
    for name, command in COMMANDS.items():
        if (results / name / SPEC).exists() and (rows := latest(results / name)):
            without = {key: row["return_without_luck"] for key, row in rows.items() if "return_without_luck" in row}
            found[name] = Run(command, of_folder(results / name), rows, without)
    return found


def with_source(section: Callable[[Run], str]) -> Callable[[Run], str]:
    return lambda run: f"{section(run)}\n\n{run.told()}"


def fill(runs: dict[str, Run], page: Path, sections: dict[str, tuple[str, Callable[[Run], str]]]) -> None:
    """Put what was run between the marks of a page."""
    text = page.read_text(encoding="utf-8")
    for mark, (name, section) in sections.items():
        made = section(runs[name]) if name in runs else f"Not run yet. `{COMMANDS[name]}` makes this part."
        begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{made}\n{end}{rest.split(end)[1]}"
    page.write_text(text, encoding="utf-8")


def make(results: Path, page: Path) -> None:
    """Fill the page of results, and draw its pictures beside it."""
    runs = runs_in(results)
    fill(runs, page, {mark: (name, with_source(section)) for mark, (name, section) in SECTIONS.items()})
    for name, wanted in PICTURES.items():
        if name in runs:
            drawn = plot.figures(runs[name].spec, runs[name].less_luck().rows)
            (page.parent / "results").mkdir(exist_ok=True)
            for found, file in wanted.items():
                drawn[found].savefig(page.parent / "results" / f"{file}.png", dpi=110)


if __name__ == "__main__":
    make(ROOT / "results", PAGE)
    fill(runs_in(ROOT / "results"), README, IN_README)
