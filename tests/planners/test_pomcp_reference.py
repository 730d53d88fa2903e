"""POMCP builds the same tree as the C++ yardstick of the benchmarks, to the last bit."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to build benchmarks/reference.cpp with")


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    folder = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("pomcp")
    finally:
        sys.path.remove(folder)


@pytest.fixture(scope="module")
def program(bench: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built: Path = bench.run.build(tmp_path_factory.mktemp("reference"))
    return built


@pytest.mark.parametrize("domain", ["light-dark", "tag", "rock-sample", "laser-tag"])
def test_trees_agree(bench: ModuleType, program: Path, domain: str) -> None:
    mine, other = bench.check(program, domain, 3, 3000)  # raises where they do not
    assert mine.steps == other.steps > 3000


def test_disagreement_is_an_error(bench: ModuleType, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "planner", lambda **budget: bench.POMCP(max_depth=100, c=2.0, estimate="random", **budget))
    with pytest.raises(AssertionError, match="light-dark: ours gave"):
        bench.check(program, "light-dark", 3, 3000)
