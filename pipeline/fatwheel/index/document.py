"""Read and write index.json, with one entry per line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from fatwheel import __version__
from fatwheel.digests import Digest
from fatwheel.index.atomic_write import INDEX
from fatwheel.records.index import Index, IndexedFile, Proof
from fatwheel.targets import Capability, parse_target

_target = cache(parse_target)  # an index repeats a few of them thousands of times
_capability = cache(Capability.parse)


@dataclass(frozen=True)
class IndexEntries:
    """The entries of an index.json. ``lines`` maps the ``id`` of an entry to its line, if the line can be reused."""

    entries: Sequence[IndexedFile] = ()
    lines: Mapping[int, bytes] = field(default_factory=dict)


def render_json(index: Index, lines: Mapping[int, bytes] | None = None) -> bytes:
    """Render index.json with one entry per line, compact and readable in diffs. ``lines``: see `IndexEntries`."""
    kept = lines or {}
    parts = []
    for key, value in index:
        if isinstance(value, list):
            entries = b",\n".join(
                [kept.get(id(entry)) or f" {entry.model_dump_json(by_alias=True)}".encode() for entry in value]
            )
            parts.append(b'"%b": [\n%b\n]' % (key.encode(), entries) if value else b'"%b": []' % key.encode())
        else:
            parts.append(f'"{key}": {value}'.encode())
    return b"{\n" + b",\n".join(parts) + b"\n}\n"


def read_index(output: Path) -> Index | None:
    """Read the index.json of a folder; None if missing. Raises `UsageError` if it is invalid."""
    return Index.read(output / INDEX) if (output / INDEX).is_file() else None


def read_document(output: Path) -> IndexEntries:
    """Read the entries of a folder's index.json; none if missing. Raises `UsageError` if it is invalid."""
    index = read_index(output)
    return IndexEntries(_list_entries(index)) if index else IndexEntries()


def read_own_document(data: bytes) -> IndexEntries:
    """Parse an index.json with a known `fingerprint`: this version wrote it, so it is not validated again."""
    document = from_json(data)
    files = [*document["wheels"], *document["sdists"], *document["variants"]]
    for values in files:
        _convert_types(values)
    entries = _construct_entries(files)
    lines = (line.removesuffix(b",") for line in data.split(b"\n") if line.startswith(b" {"))
    return IndexEntries(entries, dict(zip(map(id, entries), lines, strict=False)))  # the lists of files come first


def fingerprint(data: bytes) -> str:
    """Return a digest that changes with the index.json, with the version of fatwheel and with the fields of entries."""
    schema = f"{__version__} {' '.join(IndexedFile.model_fields)} {' '.join(Proof.model_fields)}"
    return hashlib.sha256(schema.encode() + b"\n" + data).hexdigest()


def _convert_types(values: dict[str, Any]) -> None:
    """Convert the values that validation would convert from JSON types."""
    for name in ("sha256", "metadata_sha256"):
        if values[name]:
            values[name] = Digest(values[name])
    if values["targets"]:
        values["targets"] = list(map(_target, values["targets"]))
    if values["covers"]:
        values["covers"] = list(map(_capability, values["covers"]))
    if values["proof"]:
        values["proof"] = Proof.model_validate(values["proof"])


def _list_entries(index: Index) -> list[IndexedFile]:
    return [*index.wheels, *index.sdists, *index.variants]


def _construct_entries(files: Iterable[dict[str, Any]]) -> list[IndexedFile]:
    """Create entries from field values without validation.

    pydantic's ``model_construct`` does the same with less strict requirements, and takes ten times as long.
    """
    entries = []
    names = set(IndexedFile.model_fields)
    put = object.__setattr__
    for values in files:
        entry = IndexedFile.__new__(IndexedFile)
        put(entry, "__dict__", values)
        put(entry, "__pydantic_fields_set__", names)
        put(entry, "__pydantic_extra__", None)
        put(entry, "__pydantic_private__", None)
        entries.append(entry)
    return entries
