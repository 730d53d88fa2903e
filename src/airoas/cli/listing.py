"""`airoas list`: the shipped domains and planners."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airoas.modelling.kernel_model import KernelModel


def add(commands: Any) -> None:
    listing = commands.add_parser("list", help="the shipped domains and planners")
    listing.add_argument("--json", action="store_true", help="print one JSON object")
    listing.add_argument("--devices", action="store_true", help="the GPU that device='cuda' would use")
    listing.set_defaults(command=_list)


def _list(options: argparse.Namespace) -> int:
    if options.devices:
        return _list_devices(options.json)
    from airoas.catalog import DOMAINS, FAMILIES, PLANNERS

    rows: list[dict[str, Any]] = []
    for name, make in DOMAINS.items():
        model = make(0)
        states, actions, observations = _sizes(model)
        meaning = " ".join((type(model).__doc__ or "").split())
        rows.append(
            {
                "name": name,
                "model": type(model).__name__,
                "states": states,
                "actions": actions,
                "observations": observations,
                "description": meaning,
            }
        )
    if options.json:
        print(json.dumps({"domains": rows, "planners": list(PLANNERS)}))
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table(title="domains")
    for column in ("name", "states", "actions", "observations"):
        table.add_column(column, justify="left" if column == "name" else "right", no_wrap=True)
    for row in rows:
        sizes = [f"{row[key]:,}" if isinstance(row[key], int) else str(row[key]) for key in ("states", "actions", "observations")]
        table.add_row(row["name"] + (" *" if row["name"] in FAMILIES else ""), *sizes)
    console = Console()
    console.print(table)
    console.print("* a new map for every ten episode seeds. A model of yours: file.py:Model\n")
    for kind, meaning in {row["model"]: row["description"] for row in rows}.items():
        console.print(f"[bold]{kind}[/bold]: {meaning}", highlight=False)
    console.print(f"\nplanners: {', '.join(PLANNERS)}")
    return 0


def _list_devices(as_json: bool) -> int:
    from airoas.compiler.device import devices

    rows = devices()
    print(json.dumps({"devices": rows}) if as_json else "\n".join(f"{row['device']}: {row['about']}" for row in rows))
    return 0


def _sizes(model: KernelModel) -> tuple[Any, Any, Any]:
    """Of states, actions and observations: the model's word for them, else what kind of numbers they consist of."""
    if model.has("describe"):
        sizes: tuple[Any, Any, Any] = model.describe()
        return sizes
    shapes = model.shapes
    states, observations = ("continuous" if "float" in shape.kinds else "integers" for shape in (shapes.state, shapes.observation))
    return states, model.n_actions or "continuous", observations
