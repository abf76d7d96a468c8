"""The device code in a wheel or library: bytes of machine code and PTX, for each module and target.

These are plain dataclasses, because importing pydantic takes longer than reading a library.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fatwheel.targets import Target


@dataclass(frozen=True, slots=True)
class CodeBytes:
    """Bytes of one kind of code: as stored in fat binaries, and decompressed (``raw``)."""

    stored: int
    raw: int

    def __add__(self, other: CodeBytes) -> CodeBytes:
        return CodeBytes(stored=self.stored + other.stored, raw=self.raw + other.raw)


@dataclass(frozen=True, slots=True)
class TargetCode:
    """The code for one target; missing kinds are omitted from the JSON.

    ``other`` is relocatable device code for link-time optimization; devices cannot load it.
    """

    sass: CodeBytes | None = None
    ptx: CodeBytes | None = None
    other: CodeBytes | None = None

    @property
    def stored(self) -> int:
        """Bytes of all kinds, as stored."""
        return sum(present.stored for present in (self.sass, self.ptx, self.other) if present)


@dataclass(frozen=True, slots=True)
class Module:
    """A library. ``wheel_bytes``: its compressed size in the wheel; for a file outside a wheel, its size."""

    name: str
    file_bytes: int
    wheel_bytes: int
    targets: dict[Target, TargetCode]


@dataclass(frozen=True, slots=True)
class Inventory:
    """The modules of a wheel by name, and the sums by target, ascending."""

    wheel: str
    modules: list[Module]
    targets: dict[Target, TargetCode]

    def to_json(self) -> str:
        """Return indented JSON with a final newline; equal inventories give equal bytes."""
        return json.dumps(self, default=_to_dict, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def read(cls, path: Path) -> Inventory:
        """Read an inventory from ``path``. Raises `UsageError` for a missing or invalid file."""
        from pydantic import TypeAdapter

        from fatwheel.records.base import read_with

        return read_with(TypeAdapter(cls).validate_json, cls.__name__, path)


def _to_dict(part: Inventory | Module | TargetCode | CodeBytes) -> dict[str, Any]:
    """The fields that are not None; targets as text."""
    present = {field.name: getattr(part, field.name) for field in fields(part)}
    if isinstance(part, Inventory | Module):
        present["targets"] = {str(target): code for target, code in part.targets.items()}
    return {name: value for name, value in present.items() if value is not None}
