"""AIROAS on models without hints: beside the policy that it learns, and with one part taken away at a time; and the domains with hints
again, beside version 0.1."""

from __future__ import annotations

import json

from airoas.experiments.analysis.statistics import Estimate
from airoas.experiments.analysis.summary import paired_difference
from tools.results_page.run import Run
from tools.results_page.text import bullets, table, with_error
from tools.strangers_table import REFERENCES
from tools.strangers_table import table as fractions

WITHOUT = {
    "no-policy": "1, 2: no policy and no rollouts",
    "no-learning": "1: QMDP in place of what is learned",
    "not-raised": "3: upper bounds not raised",
    "no-opening": "4: the root's actions not opened first",
    "mixture": "5: mixtures in packed branches",
    "not-reached": "6: forests in place of enumerated states",
}
"""What is taken away, in words; packing is the other way round, since mixtures are not the default."""


FEWEST = 30
"""Episodes."""


def between(first: Run, second: Run, domain: str, labels: tuple[str, str]) -> Estimate:
    """What a planner earned more in one run than a planner in another one, world by world; adjusted where both are."""
    cells = first.cell(domain, labels[0]), second.cell(domain, labels[1])
    return paired_difference(*cells, first.adjusted().rows | second.adjusted().rows)


def beyond(gain: Estimate) -> int:
    """1 or -1 where a difference is more than two errors from 0."""
    return (gain.mean > 2.0 * gain.sem) - (gain.mean < -2.0 * gain.sem)


def policy(run: Run) -> str:
    """AIROAS less its policy, where both were played often enough to tell."""
    rows, gains = [], []
    for domain in run.spec.domains:
        gain = between(run, run, domain, ("airoas", "fitted-q"))
        if gain.n < FEWEST:
            continue
        earned = (run.adjusted().earned(domain, label) for label in ("airoas", "fitted-q"))
        rows.append([run.label(domain), *(with_error(known, count=True) for known in earned), with_error(gain, count=True)])
        gains.append(gain)
    ends = [sum(beyond(gain) == sign for gain in gains) for sign in (1, -1)]
    sentence = f"Of {len(gains)} differences {ends[0]} are above 0 by more than two errors and {ends[1]} below."
    return f"{table('model | AIROAS | its policy alone | difference', rows)}\n\n{bullets([sentence])}"


def way(run: Run) -> str:
    """How far AIROAS gets from random actions to the references, where it was played often enough to tell."""
    references = json.loads(REFERENCES.read_text())
    earned = {domain: run.earned(domain, "airoas") for domain in run.spec.domains if domain in references}
    return fractions(references, {domain: ("thirteenth", returns) for domain, returns in earned.items() if returns.n >= FEWEST})


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
