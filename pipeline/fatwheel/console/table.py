"""Tables as text: no wider than the terminal, words whole, colored where colors are allowed.

Not rich: importing it takes half as long again as reading a library does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import click

_GAP = 3  # columns between two values
_EDGE = 1  # free columns on each side
_RULE = "\N{BOX DRAWINGS LIGHT HORIZONTAL}"
_PIECE = re.compile(r".+?(?:[-,./]+|$)")  # a long word wraps after these


def draw_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    width: int,
    title: str | None = None,
    right: Collection[int] = (),
    whole: Collection[int] = (),
    styles: Mapping[str, str],
) -> list[str]:
    """Return the lines of a table of at most ``width`` columns: title, headings, rule, rows.

    ``right`` lists the right-aligned columns, from 0; ``whole`` the columns that are never wrapped, even if the table
    then gets wider; ``styles`` maps values to colors.
    """
    values = [headings, *rows]
    columns = [[row[at] for row in values] for at in range(len(headings))]
    widths = _column_widths(columns, width - 2 * _EDGE - _GAP * (len(headings) - 1), whole)

    def row_lines(row: Sequence[str], *, bold: bool = False) -> list[str]:
        cells = [[text] if at in whole else wrap_text(text, widths[at]) for at, text in enumerate(row)]
        height = max(map(len, cells))
        if bold:  # headings are aligned with the rule below them
            cells = [[""] * (height - len(cell)) + cell for cell in cells]
        lines = []
        for level in range(height):
            parts = []
            for at, cell in enumerate(cells):
                text = cell[level] if level < len(cell) else ""
                color = None if bold else styles.get(row[at])
                styled = click.style(text, fg=color, bold=bold or None) if text and (bold or color) else text
                pad = " " * (widths[at] - len(text))
                parts.append(pad + styled if at in right else styled + pad)
            lines.append((" " * _EDGE + (" " * _GAP).join(parts)).rstrip())
        return lines

    rule = " " * _EDGE + _RULE * (sum(widths) + _GAP * (len(widths) - 1))
    titles = [*(click.style(line, bold=True) for line in wrap_text(title, width)), ""] if title else []
    return [*titles, *row_lines(headings, bold=True), rule, *(line for row in values[1:] for line in row_lines(row))]


def wrap_text(text: str, width: int) -> list[str]:
    """Wrap a text at spaces, and words wider than ``width`` after ``-``, ``,``, ``.`` or ``/``.

    Only what still does not fit is broken anywhere. Line breaks of the text are kept.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        current = ""
        for word in re.findall(r"\s*\S+\s*", line):
            pieces = [word] if len(word.strip()) <= width else _PIECE.findall(word)
            for piece in pieces:
                if current.strip() and len(current) + len(piece.rstrip()) > width:
                    lines.append(current.rstrip())
                    current = ""
                rest = piece if current or not lines else piece.lstrip()
                while len(rest.rstrip()) > width:
                    lines.append(rest[:width])
                    rest = rest[width:]
                current += rest
        lines.append(current.rstrip())
    return lines


def _column_widths(columns: Sequence[Sequence[str]], room: int, whole: Collection[int]) -> list[int]:
    """Return widths whose sum is at most ``room``: first words stay whole, then pieces of words, then nothing."""
    widths = [max(len(line) for text in column for line in text.split("\n")) for column in columns]
    words = [max((len(word) for text in column for word in text.split()), default=0) for column in columns]
    pieces = [
        max((len(piece) for text in column for word in text.split() for piece in _PIECE.findall(word)), default=0)
        for column in columns
    ]
    for least in (words, pieces, [1] * len(widths)):
        floors = [width if at in whole else max(least[at], 1) for at, width in enumerate(widths)]
        _shrink(widths, floors, room)
    return widths


def _shrink(widths: list[int], floors: Sequence[int], room: int) -> None:
    """Narrow the widest column that is above its floor, until all columns fit or none can be narrowed."""
    while sum(widths) > room:
        above = [at for at, width in enumerate(widths) if width > floors[at]]
        if not above:
            return
        widths[max(above, key=lambda at: (widths[at], at))] -= 1
