"""Pages of which some parts are made: these stand between marks, `<!-- name -->` and `<!-- /name -->`."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]


def fill(page: Path, sections: dict[str, str]) -> None:
    """Put each section between its marks."""
    text = page.read_text(encoding="utf-8")
    for name, section in sections.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{section}\n{end}{rest.split(end)[1]}"
    page.write_text(text, encoding="utf-8")


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
