"""The pages that pip and uv read (PEP 503): plain functions from rows to bytes, by path under the index's root."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from html import escape

from fatwheel.index.atomic_write import MARK, PAGE
from fatwheel.index.names import pages_of
from fatwheel.records.index import IndexedFile

_UP = "\0"  # stands for the way up to the index's root; no URL and no name holds it


def simple_pages(rows: Iterable[IndexedFile]) -> dict[str, bytes]:
    """A page for each project in each folder, and one for each folder but the root. ``rows`` are in order."""
    projects: dict[str, list[str]] = defaultdict(list)
    listing: dict[str, list[list[str]]] = {}  # by a row's own page: the pages that list it
    for row in rows:
        if row.page not in listing:
            listing[row.page] = [projects[page] for page in pages_of(row)]
        anchor = _anchor(row)
        for held in listing[row.page]:
            held.append(anchor)
    pages = {f"{page}{PAGE}": _project(page, held) for page, held in projects.items()}
    for folder, inside in _folders(projects).items():
        pages[f"{folder}{PAGE}"] = _folder(folder, inside)
    return pages


def _folders(projects: Iterable[str]) -> dict[str, set[str]]:
    """Every folder above a project page, the root left out, with the names inside it."""
    inside: dict[str, set[str]] = defaultdict(set)
    for page in projects:
        parts = page.rstrip("/").split("/")
        for depth in range(1, len(parts)):
            inside["/".join(parts[:depth]) + "/"].add(parts[depth])
    return inside


def _folder(folder: str, inside: set[str]) -> bytes:
    return _page(folder.rstrip("/"), [f'<a href="{name}/">{name}</a><br>' for name in sorted(inside)])


def _project(page: str, anchors: list[str]) -> bytes:
    links = "\n".join(anchors).replace(_UP, "../" * page.count("/"))
    return _page(f"Links for {page.rstrip('/').split('/')[-1]}", [links])


def _anchor(row: IndexedFile) -> str:
    """Its line, the same on every page but for the way up."""
    more = f'#sha256={row.sha256}"'
    if row.requires_python:
        more += f' data-requires-python="{escape(row.requires_python)}"'
    if row.metadata_sha256:  # pip before 24 reads the old name only
        more += f' data-core-metadata="sha256={row.metadata_sha256}"'
        more += f' data-dist-info-metadata="sha256={row.metadata_sha256}"'
    if row.yanked is not None:
        more += f' data-yanked="{escape(row.yanked)}"'
    way = "" if "://" in row.url else _UP
    return f'<a href="{way}{escape(row.url)}{more}>{escape(row.file)}</a><br>'


def _page(title: str, links: list[str]) -> bytes:
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        MARK,
        '<meta name="pypi:repository-version" content="1.0">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(title)}</title>",
        "</head>",
        "<body>",
        f"<h1>{escape(title)}</h1>",
        *links,
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines).encode()
