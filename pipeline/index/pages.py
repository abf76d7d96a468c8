"""The pages that pip and uv read (PEP 503): plain functions from rows to bytes, by path under the index's root."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from html import escape

from packaging.version import Version

from pipeline.index.names import parse_name
from pipeline.index.trees import MARK, PAGE
from pipeline.records.index import IndexedFile


def simple_pages(rows: Iterable[IndexedFile]) -> dict[str, bytes]:
    """A page for each project in each folder, and one for each folder but the root."""
    projects: dict[str, list[IndexedFile]] = defaultdict(list)
    for row in rows:
        name = parse_name(row.file)
        for page in name.pages if name else ():
            projects[page].append(row)
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
    return _page(folder.rstrip("/"), (f'<a href="{name}/">{name}</a>' for name in sorted(inside)))


def _project(page: str, rows: list[IndexedFile]) -> bytes:
    up = "../" * page.count("/")
    ordered = sorted(rows, key=lambda row: (Version(row.version), row.file))
    return _page(f"Links for {page.rstrip('/').split('/')[-1]}", (_anchor(row, up) for row in ordered))


def _anchor(row: IndexedFile, up: str) -> str:
    attributes = {"href": f"{row.url if '://' in row.url else up + row.url}#sha256={row.sha256}"}
    if row.requires_python:
        attributes["data-requires-python"] = row.requires_python
    if row.metadata_sha256:  # pip before 24 reads the old name only
        attributes["data-core-metadata"] = f"sha256={row.metadata_sha256}"
        attributes["data-dist-info-metadata"] = f"sha256={row.metadata_sha256}"
    shown = " ".join(f'{key}="{escape(value)}"' for key, value in attributes.items())
    return f"<a {shown}>{escape(row.file)}</a>"


def _page(title: str, anchors: Iterable[str]) -> bytes:
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
        *(f"{anchor}<br>" for anchor in anchors),
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines).encode()
