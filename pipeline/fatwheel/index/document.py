"""index.json as text: one line for each row, written and read back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fatwheel import __version__
from fatwheel.digests import Digest
from fatwheel.records.index import Index, IndexedFile, Proof
from fatwheel.targets import Capability, parse_target

INDEX = "index.json"
_target = cache(parse_target)  # an index repeats a few of them thousands of times
_capability = cache(Capability.parse)


@dataclass(frozen=True)
class Document:
    """The rows of an index.json, and the line of each by its ``id``, as far as they can stand in the next one."""

    rows: Sequence[IndexedFile] = ()
    lines: Mapping[int, bytes] = field(default_factory=dict)


def index_json(index: Index, lines: Mapping[int, bytes] | None = None) -> bytes:
    """index.json: one line for each row, so that it is small and its changes can be read. ``lines``: kept ones."""
    kept = lines or {}
    parts = []
    for key, value in index:
        if isinstance(value, list):
            rows = b",\n".join(
                [kept.get(id(row)) or f" {row.model_dump_json(by_alias=True)}".encode() for row in value]
            )
            parts.append(b'"%b": [\n%b\n]' % (key.encode(), rows) if value else b'"%b": []' % key.encode())
        else:
            parts.append(f'"{key}": {value}'.encode())
    return b"{\n" + b",\n".join(parts) + b"\n}\n"


def read_index(output: Path) -> Index | None:
    """The index that is there; None where none is. Raises `UsageError` for one that cannot be read."""
    return Index.read(output / INDEX) if (output / INDEX).is_file() else None


def read_document(output: Path) -> Document:
    """The same, its rows only."""
    index = read_index(output)
    return Document(_rows(index)) if index else Document()


def written_document(data: bytes) -> Document:
    """An index.json whose `mark` is known: this version wrote it, and nothing in it needs to be looked at again."""
    from pydantic_core import from_json

    held = from_json(data)
    files = [*held["wheels"], *held["sdists"], *held["variants"]]
    for values in files:
        _give_types(values)
    rows = _trusted(files)
    lines = (line.removesuffix(b",") for line in data.split(b"\n") if line.startswith(b" {"))
    return Document(rows, dict(zip(map(id, rows), lines, strict=False)))  # other lists follow those of files


def mark(data: bytes) -> str:
    """Another one when index.json is, or when this program would write another one."""
    form = f"{__version__} {' '.join(IndexedFile.model_fields)} {' '.join(Proof.model_fields)}"
    return hashlib.sha256(form.encode() + b"\n" + data).hexdigest()


def _give_types(values: dict[str, Any]) -> None:
    """Turn the values of a row that JSON has no type for into what validation would make of them."""
    for name in ("sha256", "metadata_sha256"):
        if values[name]:
            values[name] = Digest(values[name])
    if values["targets"]:
        values["targets"] = list(map(_target, values["targets"]))
    if values["covers"]:
        values["covers"] = list(map(_capability, values["covers"]))
    if values["proof"]:
        values["proof"] = Proof.model_validate(values["proof"])


def _rows(index: Index) -> list[IndexedFile]:
    return [*index.wheels, *index.sdists, *index.variants]


def _trusted(held: Iterable[dict[str, Any]]) -> list[IndexedFile]:
    """Rows of these values, all fields by name, none of which is looked at.

    pydantic's ``model_construct`` does the same for values of any origin, and takes ten times as long.
    """
    rows = []
    names = set(IndexedFile.model_fields)
    put = object.__setattr__
    for values in held:
        row = IndexedFile.__new__(IndexedFile)
        put(row, "__dict__", values)
        put(row, "__pydantic_fields_set__", names)
        put(row, "__pydantic_extra__", None)
        put(row, "__pydantic_private__", None)
        rows.append(row)
    return rows
