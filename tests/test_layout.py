"""Imports point one way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import airoas

ROOT = Path(airoas.__file__).parent

# From the ground up: a module (or package) imports only from lines above its own. Within a package there are no cycles.
LAYERS = """
    errors tables paper
    rng options
    compiler
    modelling
    domains interop
    belief
    bounds
    policies
    planners
    logbook
    agent viz
    episode
    checker
    catalog interop.gymnasium
    experiments
    report
    cli
"""

# Narrower than the layers: what stands on the right is all that these import, besides their own package.
ONLY = {
    "domains": {"errors", "rng", "compiler", "modelling"},
    "interop": {"errors", "rng", "compiler", "modelling"},
}
LEVELS = {name: level for level, line in enumerate(LAYERS.split("\n")) for name in line.split()}
WHERE_USED = (
    "matplotlib",
    "pandas",
    "dask",
    "distributed",
    "optuna",
    "gymnasium",
    "PIL",
    "plotly",
)  # optional, or slow to import: inside functions


def modules() -> dict[str, ast.Module]:
    """Dotted name below airoas -> its source; the package itself, which only names what is public, is left out."""
    files = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(path.read_text()) for path in files}


MODULES = modules()


def imported(tree: ast.AST) -> Iterator[str]:
    """Full names of everything that a source imports, wherever it does; `from a import b` is both a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "write the whole name"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def ours(name: str) -> set[str]:
    """The modules of airoas that a module imports, without `airoas` itself."""
    result = {full.removeprefix("airoas.") for full in imported(MODULES[name]) if full.startswith("airoas.")}
    return {other for other in result if other in MODULES and not any(deeper.startswith(f"{other}.") for deeper in result & set(MODULES))}


def unit(name: str) -> str:
    """The line of LAYERS that speaks for a module: its own where there is one, else that of its package."""
    return name if name in LEVELS else name.partition(".")[0]


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_one_way(name: str) -> None:
    assert unit(name) in LEVELS, f"give {unit(name)} its place in LAYERS"
    for other in ours(name):
        if unit(other) != unit(name):
            assert LEVELS[unit(other)] < LEVELS[unit(name)], f"{name} imports {other}"
            assert unit(other) in ONLY.get(unit(name), {unit(other)}), f"{name} imports {other}"
            assert unit(other) != "domains" or unit(name) in ("catalog", "cli"), f"{name} imports a domain"


def test_no_cycles() -> None:
    graph = {name: ours(name) for name in MODULES}
    while graph:
        free = [name for name, others in graph.items() if not others & (graph.keys() - {name})]
        assert free, f"some of these import each other: {sorted(graph)}"
        graph = {name: others for name, others in graph.items() if name not in free}


@pytest.mark.parametrize("name", MODULES)
def test_optional_packages_are_imported_where_they_are_used(name: str) -> None:
    top = [node for node in MODULES[name].body if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert not [full for node in top for full in imported(node) if full.partition(".")[0] in WHERE_USED]


def test_the_table_names_what_there_is() -> None:
    assert LEVELS.keys() <= {unit(name) for name in MODULES}


def test_few_modules_lie_loose() -> None:
    """Whoever opens the package sees rooms; what does not fit one of them is no reason for a ninth file beside them."""
    assert len([path for path in ROOT.glob("*.py") if path.name != "__init__.py"]) <= 8
