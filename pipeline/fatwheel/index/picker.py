"""What the page's script chooses from, as JSON: the rows that are shown, and GPUs by name."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from packaging.utils import canonicalize_name

from fatwheel.index.formatting import proof_words
from fatwheel.index.gpus import PRODUCTS
from fatwheel.index.names import public
from fatwheel.records.index import IndexedFile

_NEEDS = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;]+)\s*(?:;(.*))?")
_EXTRA = re.compile(r"extra == ['\"]([^'\"]+)['\"]")


def picker_data(rows: Sequence[IndexedFile]) -> str:
    """JSON that may stand inside a script element."""
    there = {(row.project, row.version) for row in rows}
    wheels = [_wheel(row, there) for row in rows]
    behind = {need["project"] for wheel in wheels for need in wheel["needs"]}
    gpus = [
        {"capability": capability, "generation": generation, "names": names}
        for capability, (generation, names) in PRODUCTS.items()
    ]
    held = {
        "projects": [name for name in dict.fromkeys(row.project for row in rows) if name not in behind],
        "gpus": gpus,
        "wheels": wheels,
    }
    return json.dumps(held, separators=(",", ":")).replace("<", "\\u003c")


def _wheel(row: IndexedFile, there: set[tuple[str, str]]) -> dict[str, Any]:
    return {
        "project": row.project,
        "version": str(public(row.version)),
        "full": row.version,
        "nightly": row.nightly,
        "cuda": row.cuda,
        "toolkit": row.toolkit,
        "arch": row.arch,
        "family": row.family,
        "covers": None if row.covers is None else [str(one) for one in row.covers],
        "python": row.file.removesuffix(".whl").split("-")[-3],
        "bytes": row.bytes,
        "url": row.url,
        "sha256": row.sha256,
        "file": row.file,
        "page": row.page.rstrip("/").rpartition("/")[0],
        "proof": proof_words(row)[1],
        "yanked": row.yanked,
        "needs": _needs(row, there),
    }


def _needs(row: IndexedFile, there: set[tuple[str, str]]) -> list[dict[str, str | None]]:
    """The providers that a shim requires: wheels of this index and of its own version."""
    found: list[dict[str, str | None]] = []
    for text in row.requires_dist:
        match = _NEEDS.match(text)
        if match and match[2] == row.version and (canonicalize_name(match[1]), row.version) in there:
            extra = _EXTRA.search(match[3] or "")
            found.append({"project": canonicalize_name(match[1]), "extra": extra[1] if extra else None})
    return found
