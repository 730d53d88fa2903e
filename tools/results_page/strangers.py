"""AIROAS on models without hints: beside the policy that it learns, and with one part taken away at a time; and the domains with hints
again, beside version 0.1."""

from __future__ import annotations

from airoas.experiments.analysis.statistics import Estimate
from airoas.experiments.analysis.summary import paired_difference
from tools.results_page.run import Run
from tools.results_page.text import bullets, table, with_error

WITHOUT = {
    "no-policy": "1, 2: no policy and no rollouts",
    "no-learning": "1: QMDP in place of what is learned",
    "not-raised": "3: upper bounds not raised",
    "no-opening": "4: the root's actions not opened first",
    "mixture": "5: mixtures in packed branches",
    "not-reached": "6: forests in place of enumerated states",
}
"""What is taken away, in words; packing is the other way round, since mixtures are not the default."""


def between(first: Run, second: Run, domain: str, labels: tuple[str, str]) -> Estimate:
    """What a planner earned more in one run than a planner in another one, world by world; adjusted where both are."""
    cells = first.cell(domain, labels[0]), second.cell(domain, labels[1])
    return paired_difference(*cells, first.adjusted().rows | second.adjusted().rows)


def beyond(gain: Estimate) -> int:
    """1 or -1 where a difference is more than two errors from 0."""
    return (gain.mean > 2.0 * gain.sem) - (gain.mean < -2.0 * gain.sem)


def policy(run: Run, poker: Run) -> str:
    """AIROAS less its policy; poker is a run of its own."""
    rows, gains = [], []
    for domain in run.spec.domains:
        one = poker if domain == "poker" else run
        gain = between(one, one, domain, ("airoas", "fitted-q"))
        earned = (one.adjusted().earned(domain, label) for label in ("airoas", "fitted-q"))
        rows.append([run.label(domain), *(with_error(known, count=True) for known in earned), with_error(gain, count=True)])
        gains.append(gain)
    ends = [sum(beyond(gain) == sign for gain in gains) for sign in (1, -1)]
    sentence = f"Of {len(gains)} differences {ends[0]} are above 0 by more than two errors and {ends[1]} below."
    return f"{table('model | AIROAS | its policy alone | difference', rows)}\n\n{bullets([sentence])}"


def later(*runs: Run) -> str:
    """The same models in later versions, each run in worlds of its own; the last run is the newest."""
    newest = runs[-1].spec.domains
    rows = [[runs[-1].label(domain), *(_earned(run, domain) for run in runs)] for domain in newest]
    return table(" | ".join(("model", *(run.command.split("/")[-1].split()[0] for run in runs))), rows)


def _earned(run: Run, domain: str) -> str:
    """Of AIROAS; "-" where it was not played there."""
    played = any((cell.domain, cell.label) == (domain, "airoas") for cell in run.spec.cells)
    return with_error(run.adjusted().earned(domain, "airoas"), count=True) if played else "-"


def ablation(run: Run) -> str:
    """All less each of the others, on the models that it was tried on."""
    adjusted = run.adjusted()
    tried = {(cell.domain, cell.label) for cell in run.spec.cells}
    domains = [domain for domain in run.spec.domains if (domain, "all") in tried]
    rows = []
    for domain in domains:
        gains = ((adjusted.gain(domain, "all", label) if (domain, label) in tried else None) for label in WITHOUT)
        rows.append([run.label(domain), with_error(adjusted.earned(domain, "all"), count=True), *map(_shown, gains)])
    return table(" | ".join(("model", "all", *WITHOUT.values())), rows)


def _shown(gain: Estimate | None) -> str:
    """In bold beyond two errors."""
    if gain is None:
        return "-"
    return f"**{with_error(gain)}**" if gain.n and beyond(gain) else with_error(gain)


def again(run: Run, earlier: Run) -> str:
    """Adjusted returns of AIROAS with its hints in both versions."""
    rows = []
    for domain in run.spec.domains:
        versions = (one.adjusted().earned(domain, "airoas") for one in (earlier, run))
        gain = between(run, earlier, domain, ("airoas", "airoas"))
        rows.append([run.label(domain), *(with_error(known, count=True) for known in versions), with_error(gain)])
    return table("domain | 0.1 | 0.2 | difference", rows)
