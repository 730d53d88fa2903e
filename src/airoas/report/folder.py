"""A page about an experiment: its tables and plots, episodes worth a look, and what went wrong."""

from __future__ import annotations

from html import escape
from pathlib import Path
from shlex import quote

from airoas.experiments.analysis.control_variate import adjusted_folder
from airoas.experiments.analysis.plot import plots
from airoas.experiments.analysis.summary import finished
from airoas.experiments.analysis.table import tables
from airoas.experiments.rows.store import latest
from airoas.experiments.rows.types import Row
from airoas.experiments.run.replay import can_replay
from airoas.experiments.spec.cells import Spec
from airoas.experiments.spec.reading import of_folder
from airoas.report.page import page
from airoas.tables import TextTable
from airoas.viz.pictures import inline

MOST_ERRORS = 20


def report(folder: Path, adjusted: bool = False) -> str:
    """The page of a folder of results; with `adjusted` returns by the control variate too."""
    spec = of_folder(folder)
    rows, remarks = adjusted_folder(folder) if adjusted else (latest(folder), [])
    parts = [f'<div class="wide">{table.trimmed().html()}</div>' for table in tables(spec, rows, adjusted, remarks)]
    if any("error" not in row for row in rows.values()):
        images = (f'<p><img alt="{escape(name)}" src="{inline(plot)}"></p>' for name, plot in plots(spec, rows).items())
        parts += ["<h2>Plots</h2>", *images, "<h2>Episodes</h2>"]
        parts.append(f'<div class="wide commands">{_episodes(spec, rows, folder).html()}</div>')
    parts += _errors(rows)
    parts.append(f"<h2>What was asked</h2><pre>{escape(spec.text)}</pre>")
    return page(spec.title or folder.name, parts)


def _episodes(spec: Spec, rows: dict[str, Row], folder: Path) -> TextTable:
    """The worst, the middle and the best episode of each cell, each with the command that shows it."""
    table = TextTable("", ("domain", "planner", "episode", "discounted return", "steps", "seed", "step by step"))
    for cell in spec.cells:
        done = sorted(finished(cell, rows).values(), key=lambda row: row["discounted_return"])
        ranks = dict(zip((0, len(done) - 1, len(done) // 2), ("worst", "best", "middle"), strict=True)) if done else {}
        for rank in sorted(ranks):
            row = done[rank]
            command = f"airoas report {quote(str(folder))} {row['id']}" if can_replay(row) else "-"
            about = (ranks[rank], f"{row['discounted_return']:.4g}", str(row["steps"]), str(row["seed"]), command)
            table.rows.append((cell.domain, cell.label, *about))
    if any(row[-1] == "-" for row in table.rows):
        table.notes.append("An episode without a command was timed, and its moves were not kept: `--full` keeps them.")
    table.notes.append("The command makes a page of the episode, several MB large, with belief and search tree at every step.")
    return table


def _errors(rows: dict[str, Row]) -> list[str]:
    """What went wrong, equal errors together."""
    failed = [row for row in rows.values() if "error" in row]
    if not failed:
        return []
    kinds: dict[tuple[str, ...], list[Row]] = {}
    for row in failed:
        kinds.setdefault((Path(row["domain"]).name, Path(row["planner"]).name, row["error"]), []).append(row)
    table = TextTable("", ("episodes", "the first id", "domain", "planner", "error"))
    table.rows += [(str(len(alike)), alike[0]["id"], *kind) for kind, alike in [*kinds.items()][:MOST_ERRORS]]
    if len(kinds) > MOST_ERRORS:
        table.notes.append(f"and {len(kinds) - MOST_ERRORS} more errors")
    return [f'<h2>Failed episodes</h2><div class="wide errors">{table.html()}</div>']
