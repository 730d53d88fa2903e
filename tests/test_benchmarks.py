"""The C++ yardstick does the same work as our kernels, to the last bit."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to build benchmarks/reference.cpp with")


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """`benchmarks/run.py`, which is a script and in no package."""
    spec = importlib.util.spec_from_file_location("benchmarks_run", Path(__file__).parents[1] / "benchmarks" / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def program(bench: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built: Path = bench.build(tmp_path_factory.mktemp("reference"))
    return built


@pytest.mark.parametrize("draw", ["uniform", "normal", "integer", "reseed"])
def test_draws_agree(bench: ModuleType, program: Path, draw: str) -> None:
    bench.check(program, draw, 7, 200_000)  # enough normals to reach the tail beyond the ziggurat


@pytest.mark.parametrize("observed", ["", "+observe"])
@pytest.mark.parametrize("domain", ["light-dark", "tag", "rock-sample", "laser-tag"])
def test_rollouts_agree(bench: ModuleType, program: Path, domain: str, observed: str) -> None:
    for seed in range(3):
        bench.check(program, f"{domain}{observed}", seed, 300)


def test_disagreement_is_an_error(bench: ModuleType, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bench.MODELS, "light-dark", lambda: bench.LightDark(step_size=0.5))
    with pytest.raises(AssertionError, match="light-dark: ours gave"):
        bench.check(program, "light-dark", 0, 1000)


def test_no_compiler_is_no_program(bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert bench.build(tmp_path) is None
