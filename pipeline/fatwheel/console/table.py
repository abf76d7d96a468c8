"""A table as text: as wide as it must be, at most as wide as there is room, coloured where that is wanted.

It is drawn here since commands that read one library would take half as long again to import a package for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import click

_GAP = 3  # columns between two values
_EDGE = 1  # columns that are left free at each side
_RULE = "\N{BOX DRAWINGS LIGHT HORIZONTAL}"


def drawn(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    room: int,
    title: str | None = None,
    right: Collection[int] = (),
    whole: Collection[int] = (),
    styles: Mapping[str, str],
) -> list[str]:
    """The lines of a table of at most ``room`` columns: a title, headings, a rule, and the rows.

    ``right`` names the columns, from 0, whose values are set to the right; ``whole`` those whose values are not broken;
    ``styles`` has the colours of values.
    """
    held = list(rows)
    widths = [
        max(len(line) for row in (headings, *held) for line in row[at].split("\n")) for at in range(len(headings))
    ]
    _shrink(widths, room - 2 * _EDGE - _GAP * (len(widths) - 1), whole)

    def row_lines(row: Sequence[str], *, bold: bool = False) -> list[str]:
        cells = [[text] if at in whole else broken(text, widths[at]) for at, text in enumerate(row)]
        height = max(map(len, cells))
        if bold:  # headings stand on the rule
            cells = [[""] * (height - len(cell)) + cell for cell in cells]
        lines = []
        for level in range(height):
            parts = []
            for at, cell in enumerate(cells):
                text = cell[level] if level < len(cell) else ""
                colour = None if bold else styles.get(row[at])
                shown = click.style(text, fg=colour, bold=bold or None) if text and (bold or colour) else text
                pad = " " * (widths[at] - len(text))
                parts.append(pad + shown if at in right else shown + pad)
            lines.append((" " * _EDGE + (" " * _GAP).join(parts)).rstrip())
        return lines

    rule = " " * _EDGE + _RULE * (sum(widths) + _GAP * (len(widths) - 1))
    titles = [*(click.style(line, bold=True) for line in broken(title, room)), ""] if title else []
    return [*titles, *row_lines(headings, bold=True), rule, *(line for row in held for line in row_lines(row))]


def broken(text: str, width: int) -> list[str]:
    """Lines of at most ``width``, broken between words where that is possible."""
    lines: list[str] = []
    for line in text.split("\n"):
        part = ""
        for word in re.findall(r"\s*\S+\s*", line):
            if part and len(part) + len(word.rstrip()) > width:
                lines.append(part.rstrip())
                part = ""
            rest = word
            while len(rest.rstrip()) > width:
                lines.append(rest[:width])
                rest = rest[width:]
            part += rest
        lines.append(part.rstrip())
    return lines


def _shrink(widths: list[int], room: int, whole: Collection[int]) -> None:
    """Take from the widest of the columns that may be broken, until all have room."""
    places = [at for at in range(len(widths)) if at not in whole]
    while places and sum(widths) > room:
        widest = max(places, key=lambda at: (widths[at], at))
        if widths[widest] <= 1:
            return
        widths[widest] -= 1
