"""GitHub-flavored Markdown for step summaries and release notes: escaping and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def escape(text: str) -> str:
    """Text on one line, without characters that would start a table cell or an HTML tag."""
    return " ".join(text.split("\n")).replace("|", "\\|").replace("<", "&lt;")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> list[str]:
    """The lines of a table. Cells are escaped; ``right`` lists the columns, from 0, to align right."""
    aligned = frozenset(right)
    rule = ["---:" if column in aligned else "---" for column in range(len(headings))]
    return [_row(headings), f"|{'|'.join(rule)}|", *(_row([escape(cell) for cell in row]) for row in rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
