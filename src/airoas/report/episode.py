"""A page about one episode: step by step the domain, the belief, the values of the actions, the search tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from airoas.belief.filters.interface import Filter
from airoas.belief.particles import Particles
from airoas.belief.tempering.result import Annealed
from airoas.catalog import find_filter, make_planner
from airoas.episode import Episode, simulate
from airoas.errors import OptionError, rounded
from airoas.experiments.rows.types import Row
from airoas.experiments.run.play import find_domain, record, with_tuples
from airoas.experiments.run.replay import Replayed, check_moves, differences, other_version
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.base import Decision, Planner
from airoas.report import charts
from airoas.report.outline import outline
from airoas.report.page import page
from airoas.rng import Rng
from airoas.tables import named
from airoas.viz.pictures import component_names, every_belief, picture, view_of

MOST_PARTICLES = 1000
NOTHING = "–"  # noqa: RUF001 - stands where there is no number
MOST_NODES, MOST_NODES_IN_ALL, FEWEST_NODES = 1500, 40_000, 150

Progress = Callable[[str], None]
"""Called with what is being done, where that may take a while."""


@dataclass
class DecisionSnapshot:
    """What is kept of a decision, whose tree may be large: its charts."""

    values: charts.Chart | None
    tree: charts.Chart | None
    remark: str
    """What of the tree is shown."""


class Recorder:
    """A planner whose trees are made into charts before the next decision."""

    def __init__(self, planner: Planner, most: int, progress: Progress) -> None:
        self.planner, self.most, self.progress = planner, most, progress
        self.snapshots: list[DecisionSnapshot] = []

    def plan(self, model: KernelModel, belief: Particles, rng: Rng) -> Decision:
        self.progress(f"step {len(self.snapshots)}")
        decision = self.planner.plan(model, belief, rng)
        self.snapshots.append(self._snapshot(decision))
        return decision

    def _snapshot(self, decision: Decision) -> DecisionSnapshot:
        if decision.tree is None:
            return DecisionSnapshot(None, None, f"No tree: the decision came without a search (stopped by: {decision.stats.stop}).")
        shown = outline(decision.tree, self.most)
        count = f"{shown.beliefs} belief nodes (histories) and {len(shown.entries) - shown.beliefs} actions"
        if len(shown.entries) < self.most:
            remark = f"All {count} are shown."
        else:
            remark = f"Of {decision.stats.nodes} belief nodes those are shown in which most of the search went: {count}."
        return DecisionSnapshot(charts.values(decision), charts.icicle(shown), f"{remark} Width: {shown.measure}.")


def replay(row: Row, progress: Progress) -> str:
    """The page of a recorded episode, which is run once more for its beliefs and trees."""
    if "error" in row:
        problem = f"episode {row['id']} failed: {row['error']}"
        raise OptionError(problem, "run `airoas replay` on it with --mode debug to see where; a report needs a finished one.")
    check_moves(row)
    planner = Replayed(make_planner(row["planner"], with_tuples(row["options"])), row)
    model = find_domain(row["domain"])(row["seed"])
    recorder = Recorder(planner, nodes_for(row["steps"]), progress)
    episode = simulate(model, recorder, row["seed"], find_filter(row["filter"]), row["particles"], row["max_steps"])
    departed = differences(row, record(episode))
    if departed:
        why = other_version(row) or "the model or airoas has changed since"
        note = f"Not the same as recorded ({why}): {rounded('; '.join(departed))}."
    else:
        note, episode = "The same as recorded, to the last bit.", as_recorded(episode, row)
    title = f"{Path(row['planner']).name} on {Path(row['domain']).name}, seed {row['seed']}"  # file.py:Model without its folder
    options = ", ".join(f"{name} {value}" for name, value in row["options"].items())
    asked = {"episode": row["id"], "domain": row["domain"], "planner": row["planner"], "options": options, "seed": row["seed"]}
    return write(episode, recorder.snapshots, title, asked, note, progress)


def as_recorded(episode: Episode, row: Row) -> Episode:
    """The episode with the times and the stops of its row, where it has them: run once more, a timed search is stopped by the trials
    that it had."""
    if "stops" not in row or "plan" not in row["times"]:
        return episode
    trace = []
    for step, stop, seconds in zip(episode.trace, row["stops"], row["times"]["plan"], strict=True):
        stats = replace(step.decision.stats, stop=stop, seconds=seconds)
        trace.append(replace(step, decision=replace(step.decision, stats=stats)))
    return replace(episode, trace=tuple(trace))


def report(
    model: Any,
    planner: Planner,
    seed: int,
    filter: str | Filter = "auto",
    particles: int = 10_000,
    max_steps: int | None = None,
) -> str:
    """Run an episode as `simulate` does; its page, to be written to a file that ends in .html."""
    recorder = Recorder(planner, nodes_for(model.max_steps if max_steps is None else max_steps), lambda doing: None)
    episode = simulate(model, recorder, seed, filter, particles, max_steps)
    title = f"{type(planner).__name__} on {type(model).__name__}, seed {seed}"
    return write(episode, recorder.snapshots, title, {"domain": model, "planner": planner, "seed": seed}, "", lambda doing: None)


def nodes_for(steps: int) -> int:
    """Nodes to show of each tree, so that a page of many steps stays small enough to open."""
    return max(FEWEST_NODES, min(MOST_NODES, MOST_NODES_IN_ALL // max(1, steps)))


def write(episode: Episode, snapshots: list[DecisionSnapshot], title: str, asked: dict[str, Any], note: str, progress: Progress) -> str:
    """asked: what was run, by name."""
    annealings: list[list[Annealed]] = []
    beliefs: list[dict[str, Any]] = []
    sections: list[str] = []
    view = view_of(episode)
    for t, (s, belief) in enumerate(zip(episode.states, every_belief(episode, annealings), strict=True)):
        progress(f"picture {t} of {episode.steps}")
        ended = t == episode.steps and episode.terminated
        if not ended:
            beliefs.append(_by_component(belief))
        image, remark = picture(episode.model, s, belief, view)
        stale = "The belief is that before the last step: nothing is updated in a terminal state." if ended else ""
        sections.append(_section(episode, t, belief, image, [stale, remark]))
    steps = [
        {
            "values": snapshot.values,
            "tree": snapshot.tree,
            "tree_note": snapshot.remark,
            "annealing": charts.temperatures(annealed),
            "annealing_note": _annealing_note(episode, annealed),
        }
        for snapshot, annealed in zip(snapshots, [*annealings, *([[]] * (len(snapshots) - len(annealings)))], strict=True)
    ]
    whole = [kind != "float" for kind in episode.model.shapes.state.kinds]
    names = component_names(episode.model)
    unsure = [axis for axis in view.axes if any(len(set(belief["columns"][axis])) > 1 for belief in beliefs)]
    data = {"components": names, "whole": whole, "axes": unsure or view.axes[:1], "beliefs": beliefs, "steps": steps}
    used = "" if episode.filter_name == "exact" else f", {episode.particles} particles"
    told = {**asked, "filter": episode.filter_name + used}
    remarks = [_as_list((name, str(value)) for name, value in told.items() if str(value))]
    remarks += [f"<p>{escape(note)}</p>"] if note else []
    return page(
        title,
        [*remarks, _explorer(episode, sections), f"<h2>All steps</h2><div class='wide' id='all'>{episode.table().html()}</div>"],
        data,
    )


def _by_component(belief: Particles) -> dict[str, Any]:
    """The particles of a belief by component, few enough for a page."""
    few = belief.thinned(MOST_PARTICLES)
    remark = f"{len(belief)} particles, ESS {belief.ess:.0f}"
    if len(few) == MOST_PARTICLES < len(belief):
        remark += f"; {MOST_PARTICLES} drawn from them are shown"
    columns = [[float(f"{x:.5g}") for x in column] for column in few.states.T]
    return {"columns": columns, "weights": [float(f"{w:.3g}") for w in few.weights], "note": remark}


def _annealing_note(episode: Episode, annealed: list[Annealed]) -> str:
    if not annealed:
        return "Not annealed: " + (
            "the filter is exact." if episode.filter_name == "exact" else "a plain update was good enough, or none was made."
        )
    last = annealed[-1]
    before, after = last.inefficiency
    return (
        f"{len(last.betas) - 1} stages with the move {last.move!r}. N/ESS {before:.3g} for a plain update, {after:.3g} after annealing. "
        f"{last.evaluations} likelihoods for each particle, log evidence {last.log_evidence:.4g}."
    )


def _section(episode: Episode, t: int, belief: Particles, image: str, remarks: list[str]) -> str:
    over = t == episode.steps
    alt = f"The state and the belief {'at the end' if over else f'before step {t}'}"
    summary = _as_list(_facts(episode, t, belief))
    notes = "".join(f'<p class="note">{escape(remark)}</p>' for remark in filter(None, remarks))
    return f'<section class="step" data-step="{t}" hidden>{summary}<img alt="{alt}" src="{image}">{notes}</section>'


def _as_list(facts: Iterable[tuple[str, str]]) -> str:
    """Names with their values."""
    return f"<dl>{''.join(f'<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>' for name, value in facts)}</dl>"


def _facts(episode: Episode, t: int, belief: Particles) -> Iterator[tuple[str, str]]:
    yield "step", f"{t} of {episode.steps}"
    yield "state", named(episode.states[t])
    around = zip(component_names(episode.model), belief.mean(), belief.std(), strict=True)
    yield "belief, mean ± sd", ", ".join(f"{name} {mean:.4g} ± {sd:.3g}" for name, mean, sd in around)
    if t == episode.steps:
        yield "the end", episode.ending
        if not math.isnan(episode.discounted_return):
            yield "discounted return", f"{episode.discounted_return:.4g}"
        return
    step = episode.trace[t]
    decision, stats = step.decision, step.decision.stats
    yield "action", episode.action_name(step.action)
    yield "observation", NOTHING if step.observation is None else named(step.observation)
    if not math.isnan(step.reward):
        yield "reward", f"{step.reward:g}"
    yield "value of the plan", NOTHING if math.isnan(decision.value) else f"{decision.value:.4g}"
    if not math.isnan(decision.lower + decision.upper):
        yield "bounds", f"[{decision.lower:.4g}, {decision.upper:.4g}]"
    yield "search", f"{stats.trials} trials, {stats.nodes} belief nodes, depth {stats.depth}" if stats.nodes else NOTHING
    yield "stopped by", "no search" if stats.stop == "done" else stats.stop
    yield "plan time", f"{1e3 * stats.seconds:.1f} ms"
    yield "surprise", f"{step.surprise:.2f}{', the belief is lost' if step.lost else ''}"
    if step.recovery:
        yield "filter", step.recovery


def _explorer(episode: Episode, sections: list[str]) -> str:
    return f"""
<nav class="slider">
  <button type="button" id="previous" aria-label="previous step">◀</button>
  <input type="range" id="step" min="0" max="{episode.steps}" value="0" aria-label="step">
  <button type="button" id="next" aria-label="next step">▶</button>
  <output id="at" for="step">0</output>
</nav>
<div class="panels">
  <article><h2>World</h2>{"".join(sections)}</article>
  <article>
    <h2>Belief</h2>
    <p class="choose"><label>x <select id="x"></select></label> <label>y <select id="y"></select></label></p>
    <div id="belief" class="plot"></div><p id="belief-note" class="note"></p>
  </article>
  <article><h2>Values of the actions</h2><div id="values" class="plot"></div><p id="values-note" class="note"></p></article>
  <article><h2>Annealing</h2><div id="annealing" class="plot"></div><p id="annealing-note" class="note"></p></article>
  <article class="whole">
    <h2>Search tree</h2><p class="note">Actions and observations alternate. Click a node to open it, the bar on top to go back up.</p>
    <div id="tree" class="plot"></div><p id="node" class="note" aria-live="polite"></p><p id="tree-note" class="note"></p>
  </article>
</div>"""
