"""`TextTable`: a table of text, for a terminal and for a notebook or web page; and values as text and JSON."""

from __future__ import annotations

import io
import math
import re
import shutil
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

_NUMBER = re.compile(r"[-+<\[(]?\s*(\d|nan|inf)")


@dataclass
class TextTable:
    """A table of text. Whatever its cells hold is shown as it stands, never read as markup."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def numeric(self) -> list[bool]:
        """[columns] whether a column holds numbers, which stand to the right."""
        cells = [[row[k] for row in self.rows if row[k].strip()] for k in range(len(self.columns))]
        return [bool(column) and all(_NUMBER.match(cell) for cell in column) for column in cells]

    def trimmed(self) -> TextTable:
        """The same without the columns in which every cell is empty."""
        kept = [k for k in range(len(self.columns)) if any(row[k].strip() for row in self.rows)]
        return TextTable(self.title, tuple(self.columns[k] for k in kept), [tuple(row[k] for k in kept) for row in self.rows], self.notes)

    def text(self, width: int | None = None) -> str:
        """For a terminal, as wide as that, or `width` characters."""
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(self.title) if self.title else None, title_justify="left")
        for column, is_numeric in zip(self.columns, self.numeric, strict=True):
            table.add_column(Text(column), justify="right" if is_numeric else "left", overflow="fold")  # nothing is cut off
        for row in self.rows:
            table.add_row(*map(Text, row))
        text = io.StringIO()
        console = Console(file=text, width=width or max(100, shutil.get_terminal_size((150, 24)).columns))
        console.print(table)
        for note in self.notes:
            console.print(Text(note))
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())

    def html(self) -> str:
        """For a notebook or a page."""

        sides = ["right" if is_numeric else "left" for is_numeric in self.numeric]

        def line(tag: str, cells: tuple[str, ...]) -> str:
            parts = (
                f'<{tag} data-column="{escape(column)}" style="text-align:{side}">{_spaced(cell)}</{tag}>'  # a narrow page shows it beside
                for cell, side, column in zip(cells, sides, self.columns, strict=True)
            )
            return f"<tr>{''.join(parts)}</tr>"

        title = f'<caption style="text-align:left">{escape(self.title)}</caption>' if self.title else ""
        body = "\n".join(line("td", row) for row in self.rows)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table>{title}<thead>{line('th', self.columns)}</thead><tbody>\n{body}\n</tbody></table>{notes}"


def _spaced(cell: str) -> str:
    """Escaped, with the indentation kept."""
    bare = cell.lstrip(" ")
    return "&nbsp;" * (len(cell) - len(bare)) + escape(bare)


def numbers(values: Any) -> str:
    """A few numbers side by side."""
    return " ".join(map(_told, values))


def named(values: Any) -> str:
    """Numbers with the names of what they are, where the tuple has names; None is not known."""
    if values is None:
        return "not known"
    fields = getattr(values, "_fields", None)
    return ", ".join(f"{name} {_told(x)}" for name, x in zip(fields, values, strict=True)) if fields else numbers(values)


def _told(x: Any) -> str:
    if isinstance(x, tuple):
        return f"({named(x)})"
    return repr(x) if hasattr(x, "shape") and x.shape else f"{float(x):.4g}"


def plain(value: Any) -> Any:
    """The value as JSON can hold it; what is not finite becomes None."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(part) for part in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value if value is None else str(value)
