"""One compilation cache for the whole run, in a temporary folder that the workers of a parallel run share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable

import pytest


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # workers inherit it
        os.environ["AIROAS_CACHE_DIR"] = config.stash[_FOLDER] = tempfile.mkdtemp(prefix="airoas-tests-")
        os.environ.pop("AIROAS_MODE", None)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the tests start hundreds of processes that import the same


def pytest_unconfigure(config: pytest.Config) -> None:
    if _FOLDER in config.stash:
        shutil.rmtree(config.stash[_FOLDER], ignore_errors=True)


@pytest.fixture
def said() -> Callable[[str], list[str]]:
    """`said(text)`: the lines of standard error but for those on compiling, which stand there only where it takes long."""
    from airoas.compiler.notice import KEPT, NOT_KEPT

    def lines(text: str) -> list[str]:
        return [line for line in text.splitlines() if not (line.startswith("airoas: compiling ") and line.endswith((KEPT, NOT_KEPT)))]

    return lines


_FOLDER = pytest.StashKey[str]()
