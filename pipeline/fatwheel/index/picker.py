"""The JSON data of the wheel picker on the landing page: the visible entries, and GPUs by name."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from packaging.utils import canonicalize_name

from fatwheel.index.descriptions import describe_test
from fatwheel.index.file_names import public_version
from fatwheel.index.gpus import PRODUCTS
from fatwheel.records.index import IndexedFile

_NEEDS = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;]+)\s*(?:;(.*))?")
_EXTRA = re.compile(r"extra == ['\"]([^'\"]+)['\"]")


def render_picker_data(entries: Sequence[IndexedFile]) -> str:
    """Render JSON that is safe inside a script element."""
    known = {(entry.project, entry.version) for entry in entries}
    wheels = [_describe_wheel(entry, known) for entry in entries]
    providers = {need["project"] for wheel in wheels for need in wheel["needs"]}
    gpus = [
        {"capability": str(capability), "generation": generation, "names": names}
        for capability, (generation, names) in PRODUCTS.items()
    ]
    data = {
        "projects": [name for name in dict.fromkeys(entry.project for entry in entries) if name not in providers],
        "gpus": gpus,
        "wheels": wheels,
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _describe_wheel(entry: IndexedFile, known: set[tuple[str, str]]) -> dict[str, Any]:
    return {
        "project": entry.project,
        "version": str(public_version(entry.version)),
        "full": entry.version,
        "nightly": entry.nightly,
        "cuda": entry.cuda,
        "toolkit": entry.toolkit,
        "arch": entry.arch,
        "family": entry.family,
        "covers": None if entry.covers is None else [str(one) for one in entry.covers],
        "python": entry.file.removesuffix(".whl").split("-")[-3],
        "bytes": entry.bytes,
        "url": entry.url,
        "sha256": entry.sha256,
        "file": entry.file,
        "page": entry.page.rstrip("/").rpartition("/")[0],
        "test": describe_test(entry)[1],
        "yanked": entry.yanked,
        "needs": _find_providers(entry, known),
    }


def _find_providers(entry: IndexedFile, known: set[tuple[str, str]]) -> list[dict[str, str | None]]:
    """Find the provider wheels that a shim pins in this index; each with the extra that selects it, or None."""
    found: list[dict[str, str | None]] = []
    for text in entry.requires_dist:
        match = _NEEDS.match(text)
        if match and match[2] == entry.version and (canonicalize_name(match[1]), entry.version) in known:
            extra = _EXTRA.search(match[3] or "")
            found.append({"project": canonicalize_name(match[1]), "extra": extra[1] if extra else None})
    return found
