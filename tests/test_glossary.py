"""The glossary and the page "From 0.1 to 0.2" speak of what is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"
REFERENCES = ROOT / "docs" / "references.md"
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


def test_what_the_glossary_cites_is_among_the_references() -> None:
    """By the first author and the year."""
    works = {(re.split(",| and ", row[-1])[0], row[-1][-4:]) for row in rows_of(REFERENCES)}
    cited = re.findall(r"([A-Z]\w[\w ]*?)(?: and \w+| et al\.)? (\d{4})", " ".join(entry[3] for entry in rows_of(GLOSSARY)[1:]))
    assert len(set(cited)) > 25
    missing = set(cited) - works
    assert not missing


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
