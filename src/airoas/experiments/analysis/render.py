"""Tables of text as a terminal, Markdown, LaTeX or a spreadsheet wants them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence

from airoas.experiments.analysis.table import CellSummary, Difference
from airoas.experiments.analysis.verdicts import Verdict
from airoas.tables import TextTable

FORMATS = ("text", "markdown", "latex", "csv")


def render(tables: list[TextTable], form: str) -> str:
    """The tables one below another."""
    write: dict[str, Callable[[TextTable], str]] = {"text": TextTable.text, "markdown": _markdown, "latex": _latex}
    return "\n\n".join(write[form](table) for table in tables)


def as_csv(lines: Sequence[CellSummary | Difference | Verdict]) -> str:
    """Summaries, differences or verdicts as comma-separated values; what is unknown is empty."""
    records = [line.to_dict() for line in lines]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue().rstrip("\n")


def _markdown(table: TextTable) -> str:
    def line(cells: tuple[str, ...]) -> str:
        return f"| {' | '.join(_literal(cell).replace('|', chr(92) + '|') for cell in cells)} |"

    rules = ("---", *["---:"] * (len(table.columns) - 1))
    notes = [f"\n{_literal(note)}" for note in table.notes]
    return "\n".join((f"**{_literal(table.title)}**", "", line(table.columns), line(rules), *map(line, table.rows), *notes))


def _literal(text: str) -> str:
    """Text that Markdown shows as it stands: no tag, no link, no picture."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text.replace("](", "]\\(").replace("\n", " "))


_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": "$<$",
    ">": "$>$",
}


def _latex(table: TextTable) -> str:
    def line(cells: tuple[str, ...]) -> str:
        return " & ".join(map(escape, cells)) + r" \\"

    return "\n".join(
        (
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{escape(table.title)}}}",
            rf"  \begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
            r"    \toprule",
            f"    {line(table.columns)}",
            r"    \midrule",
            *(f"    {line(row)}" for row in table.rows),
            r"    \bottomrule",
            r"  \end{tabular}",
            *(rf"  \par\small {escape(note)}" for note in table.notes),
            r"\end{table}",
        )
    )


def escape(text: str) -> str:
    """Text that LaTeX sets as it stands; needs only booktabs."""
    return "".join(_LATEX.get(character, character) for character in text)
