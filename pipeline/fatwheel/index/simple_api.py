"""Render the project pages that pip and uv read (simple repository API, PEP 503)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from html import escape

from fatwheel.index.atomic_write import MARK, PAGE
from fatwheel.index.file_names import list_pages
from fatwheel.records.index import IndexedFile

_UP = "\0"  # placeholder for the relative path to the root of the index; URLs and names never contain it


def render_pages(entries: Iterable[IndexedFile]) -> dict[str, bytes]:
    """Render a page per project in each folder and one per folder except the root, by path. ``entries`` are sorted."""
    projects: dict[str, list[str]] = defaultdict(list)
    listing: dict[str, list[list[str]]] = {}  # by the page of an entry: all pages that list it
    for entry in entries:
        if entry.page not in listing:
            listing[entry.page] = [projects[page] for page in list_pages(entry)]
        link = _render_link(entry)
        for page in listing[entry.page]:
            page.append(link)
    pages = {f"{page}{PAGE}": _render_project(page, links) for page, links in projects.items()}
    for folder, inside in _list_folders(projects).items():
        pages[f"{folder}{PAGE}"] = _render_folder(folder, inside)
    return pages


def _list_folders(projects: Iterable[str]) -> dict[str, set[str]]:
    """List the folders above the project pages, except the root, with the names inside each."""
    inside: dict[str, set[str]] = defaultdict(set)
    for page in projects:
        parts = page.rstrip("/").split("/")
        for depth in range(1, len(parts)):
            inside["/".join(parts[:depth]) + "/"].add(parts[depth])
    return inside


def _render_folder(folder: str, inside: set[str]) -> bytes:
    return _render_page(folder.rstrip("/"), [f'<a href="{name}/">{name}</a><br>' for name in sorted(inside)])


def _render_project(page: str, links: list[str]) -> bytes:
    text = "\n".join(links).replace(_UP, "../" * page.count("/"))
    return _render_page(f"Links for {page.rstrip('/').split('/')[-1]}", [text])


def _render_link(entry: IndexedFile) -> str:
    """Render the link of an entry, the same on every page except for the relative path to the root."""
    attributes = f'#sha256={entry.sha256}"'
    if entry.requires_python:
        attributes += f' data-requires-python="{escape(entry.requires_python)}"'
    if entry.metadata_sha256:  # pip before 24 reads only the old name
        attributes += f' data-core-metadata="sha256={entry.metadata_sha256}"'
        attributes += f' data-dist-info-metadata="sha256={entry.metadata_sha256}"'
    if entry.yanked is not None:
        attributes += f' data-yanked="{escape(entry.yanked)}"'
    prefix = "" if "://" in entry.url else _UP
    return f'<a href="{prefix}{escape(entry.url)}{attributes}>{escape(entry.file)}</a><br>'


def _render_page(title: str, links: list[str]) -> bytes:
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
