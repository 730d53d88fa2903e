"""Tables of text as a terminal, Markdown, LaTeX or a spreadsheet wants them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

from airoas.experiments.analysis.table import Record
from airoas.tables import Sheet

FORMATS = ("text", "markdown", "latex", "csv")


def render(sheets: list[Sheet], form: str) -> str:
    """The sheets one below another."""
    write: dict[str, Callable[[Sheet], str]] = {"text": Sheet.text, "markdown": _markdown, "latex": _latex}
    return "\n\n".join(write[form](sheet) for sheet in sheets)


def as_csv(records: list[Record]) -> str:
    """Records as comma-separated values; what is unknown is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue().rstrip("\n")


def _markdown(sheet: Sheet) -> str:
    def line(cells: tuple[str, ...]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    rules = ("---", *["---:"] * (len(sheet.columns) - 1))
    notes = [f"\n{note}" for note in sheet.notes]
    return "\n".join((f"**{sheet.title}**", "", line(sheet.columns), line(rules), *map(line, sheet.rows), *notes))


_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": "$<$",
    ">": "$>$",
}


def _latex(sheet: Sheet) -> str:
    def line(cells: tuple[str, ...]) -> str:
        return " & ".join(map(escape, cells)) + r" \\"

    return "\n".join(
        (
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{escape(sheet.title)}}}",
            rf"  \begin{{tabular}}{{l{'r' * (len(sheet.columns) - 1)}}}",
            r"    \toprule",
            f"    {line(sheet.columns)}",
            r"    \midrule",
            *(f"    {line(row)}" for row in sheet.rows),
            r"    \bottomrule",
            r"  \end{tabular}",
            *(rf"  \par\small {escape(note)}" for note in sheet.notes),
            r"\end{table}",
        )
    )


def escape(text: str) -> str:
    """Text that LaTeX sets as it stands; needs only booktabs."""
    return "".join(_LATEX.get(character, character) for character in text)
