"""The glossary and the page "From 0.1 to 0.2" speak of what is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"
OLD_NAMES = ROOT / "docs" / "from-0.1.md"


def rows_of(page: Path) -> list[list[str]]:
    lines = [line for line in page.read_text(encoding="utf-8").split("\n") if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_glossary_is_in_order_and_its_paths_exist() -> None:
    entries = rows_of(GLOSSARY)[1:]
    terms = [entry[0].lower() for entry in entries]
    assert len(terms) > 70 and terms == sorted(set(terms))
    missing = [path for entry in entries for path in re.findall(r"`([^`]+)`", entry[2]) if not (ROOT / "src" / "airoas" / path).exists()]
    assert not missing


def test_the_glossary_cites_what_it_lists() -> None:
    text = GLOSSARY.read_text(encoding="utf-8")
    cited = {
        (name, year)
        for entry in rows_of(GLOSSARY)[1:]
        for name, year in re.findall(r"([A-Z]\w[\w ]*?)(?: and \w+| et al\.)? (\d{4})", entry[3])
    }
    full = {(authors, year) for authors, year in re.findall(r"^\* (.+?) (\d{4})\. ", text, re.MULTILINE)}
    assert len(cited) > 25
    for name, year in cited:
        assert any(name in authors.partition(",")[0] and year == other for authors, other in full), (name, year)


def test_what_stands_in_the_stead_of_old_names_exists() -> None:
    """Of the right column of the tables in docs/from-0.1.md."""
    names = [name for row in rows_of(OLD_NAMES) for name in re.findall(r"`(airoas(?:\.\w+)+)`", row[1])]
    assert len(names) > 50
    for name in names:
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                value = importlib.import_module(".".join(parts[:cut]))
            except ImportError:
                continue
            for part in parts[cut:]:
                value = getattr(value, part)
            break
