"""The page of a report: one HTML file with its plots inside, no script, nothing fetched; and its data beside it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from fatwheel import __version__
from fatwheel.records.base import write_atomically
from fatwheel.records.report import Report
from fatwheel.report import formatting
from fatwheel.report.plots import Plot, plots
from fatwheel.report.tables import Table, tables
from fatwheel.sizes import size

PAGE = "index.html"
DATA = "report.json"
STYLE = Path(__file__).resolve().parent.parent / "data" / "report.css"

_SECTIONS = {
    "room": (
        "Room under the limit",
        "Each wheel in percent of the limit. The dark tick is its size in the release before.",
    ),
    "history": (
        "From release to release",
        "Dots and lines are releases; what is dotted goes on as before, within the shaded bounds (95 %).",
    ),
    "targets": (
        "What each GPU target takes",
        "Bytes in the wheel, read from its machine code. One colour for each major, paler for its later targets.",
    ),
    "modules": ("The largest modules", "Bytes in the largest wheel."),
}


def write_page(report: Report, folder: Path) -> Path:
    """Write the page and its data into a folder; the page's path. Equal reports give equal bytes."""
    write_atomically(folder / DATA, report.to_json().encode())
    write_atomically(folder / PAGE, page(report).encode())
    return folder / PAGE


def page(report: Report) -> str:
    """The page as HTML."""
    drawn = plots(report)
    body = [
        "<header>",
        f"<h1>Sizes of {escape(_name(report))}</h1>",
        f"<p>{escape(report.now or '')}, {_count(len(report.wheels), 'wheel')}"
        + (f", compared with {escape(report.before)}" if report.before else "")
        + "</p>",
        "</header>",
        "<main>",
        *_tiles(report),
        *_problems(report),
        *(line for name, plot in drawn.items() for line in _figure(name, plot, report)),
        *_tables(report),
        *_notes(report),
        "</main>",
        f"<footer>Written by fatwheel {escape(__version__)}. The same as data: <a href='{DATA}'>{DATA}</a>.</footer>",
    ]
    head = [
        "<!DOCTYPE html>",
        "<html lang='en'>",
        "<head>",
        "<meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>Sizes of {escape(_name(report))}</title>",
        f"<style>\n{STYLE.read_text(encoding='utf-8')}</style>",
        "</head>",
        "<body>",
    ]
    return "\n".join([*head, *body, "</body>", "</html>", ""])


def _name(report: Report) -> str:
    names = sorted({row.wheel.split("-")[0].replace("_", "-") for row in report.wheels})
    return formatting.listed(names, 2) or "nothing"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _tiles(report: Report) -> Iterable[str]:
    """The answers that a release manager looks for first."""
    yield "<ul class='tiles'>"
    if report.wheels:
        largest = report.wheels[0]
        state = {"over": "bad", "warn": "near"}.get(largest.level, "good")
        yield _tile(state, formatting.share(largest), f"of the limit: {largest.label}, {size(largest.bytes)}")
        grown = max(report.wheels, key=lambda row: row.growth or 0)
        if grown.growth:
            state = "near" if any(row.level == "grown" for row in report.wheels) else "good"
            yield _tile(state, formatting.signed(grown.growth), f"grew most since {report.before}: {grown.label}")
    soonest = next((trend for trend in report.trends if trend.days), None)
    if soonest and soonest.days is not None:
        state = "bad" if soonest.days < 14 else "near" if soonest.days < 90 else "good"
        yield _tile(state, formatting.days(soonest), f"until {soonest.label} meets the limit, {soonest.note}")
    if report.dead:
        total = sum(one.bytes for one in report.dead)
        yield _tile("near", size(total), f"that no device loads, in {_count(len(report.dead), 'module part')}")
    yield "</ul>"


def _tile(state: str, figure: str, about: str) -> str:
    return f"<li class='{state}'><b>{escape(figure)}</b><span>{escape(about)}</span></li>"


def _problems(report: Report) -> Iterable[str]:
    if report.problems:
        yield "<ul class='problems'>"
        yield from (f"<li>{escape(problem)}</li>" for problem in report.problems)
        yield "</ul>"


def _figure(name: str, plot: Plot, report: Report) -> Iterable[str]:
    title, about = _SECTIONS[name]
    if name == "modules":
        row = next(row for row in report.wheels if row.by_module)
        about = f"Bytes in {row.label}, {size(row.bytes)} in all."
    yield f"<section><h2>{escape(title)}</h2><p>{escape(about)}</p>"
    yield f"<figure role='img' aria-label='{escape(plot.about)}'>"
    yield f"<div class='wide'>{plot.wide}</div><div class='narrow'>{plot.narrow}</div></figure></section>"


def _tables(report: Report) -> Iterable[str]:
    yield "<h2>In figures</h2>"
    for table in tables(report):
        yield from _table(table)


def _table(table: Table) -> Iterable[str]:
    title = escape(table.title)
    yield f"<div class='scroll' role='region' aria-label='{title}' tabindex='0'><table><caption>{title}</caption>"
    right = ["n" if at in table.right else "" for at in range(len(table.headings))]
    yield "<thead><tr>" + "".join(
        f"<th scope='col' class='{kind}'>{escape(heading)}</th>"
        for kind, heading in zip(right, table.headings, strict=True)
    ) + "</tr></thead><tbody>"  # fmt: skip
    for row in table.rows:
        cells = [f"<td class='{_class(at, cell, right[at])}'>{escape(cell)}</td>" for at, cell in enumerate(row)]
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"
    if table.below:
        yield f"<p>{escape(table.below)}</p>"


def _class(place: int, cell: str, right: str) -> str:
    if cell in ("OVER", "NOTHING", "too large"):
        return "bad"
    if cell in ("GREW", "near"):
        return "near"
    return right or ("k" if place == 0 else "")


def _notes(report: Report) -> Iterable[str]:
    if report.notes:
        yield f"<details><summary>{_count(len(report.notes), 'note')}</summary><ul>"
        yield from (f"<li>{escape(note)}</li>" for note in report.notes)
        yield "</ul></details>"
