"""One compilation cache for the whole run, in a temporary folder that the workers of a parallel run share."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

LONG = Path(__file__).with_name("long.txt")
"""Tests of whole sessions that take some ten seconds or more each: they run with the laws."""


def pytest_configure(config: pytest.Config) -> None:
    gc.set_threshold(20_000, 10, 10)  # four thousand tests make many objects, most of which stay
    if not hasattr(config, "workerinput"):  # workers inherit it
        os.environ["AIROAS_CACHE_DIR"] = config.stash[_FOLDER] = tempfile.mkdtemp(prefix="airoas-tests-")
        os.environ.pop("AIROAS_MODE", None)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the tests start hundreds of processes that import the same


def pytest_unconfigure(config: pytest.Config) -> None:
    if _FOLDER in config.stash:
        shutil.rmtree(config.stash[_FOLDER], ignore_errors=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    long = set(LONG.read_text(encoding="utf-8").split())
    for item in items:
        if item.nodeid in long:
            item.add_marker("law")
    # Two workers begin with the first test and the one in the middle. These two folders would stand there, and compile the same for 20
    # seconds at once; at the end they find it.
    items.sort(key=lambda item: item.path.parent.name in ("attack", "laws"))
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and (gone := long.difference(item.nodeid for item in items)):
        raise pytest.UsageError(f"{LONG.name} names tests that there are not: {', '.join(sorted(gone))}")


@pytest.fixture
def said() -> Callable[[str], list[str]]:
    """`said(text)`: the lines of standard error but for those on compiling, which stand there only where it takes long."""
    from airoas.compiler.notice import KEPT, NOT_KEPT

    def lines(text: str) -> list[str]:
        return [line for line in text.splitlines() if not (line.startswith("airoas: compiling ") and line.endswith((KEPT, NOT_KEPT)))]

    return lines


_FOLDER = pytest.StashKey[str]()
