"""The snippets of docs/interop.md run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

FILES = Path(__file__).parent / "files"
SNIPPETS = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[2] / "docs" / "interop.md").read_text(), re.DOTALL)


def test_there_are_snippets() -> None:
    assert len(SNIPPETS) == 2


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_it_runs(snippet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(FILES / "tiger.pomdp", tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "docs/interop.md", "exec"), {"__name__": "snippet"})
    for promised in re.findall(r"print\(model\) +# (.*)", snippet):
        assert promised in capsys.readouterr().out
