"""What device code a wheel or a library holds: for each module and target, the bytes of machine code and of PTX.

The classes are plain ones: reading a library takes less time than importing what the other records are made of.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fatwheel.targets import Target


@dataclass(frozen=True, slots=True)
class CodeBytes:
    """Bytes of one kind of code: as stored in the fat binaries, and decompressed."""

    stored: int
    raw: int

    def __add__(self, other: CodeBytes) -> CodeBytes:
        return CodeBytes(stored=self.stored + other.stored, raw=self.raw + other.raw)


@dataclass(frozen=True, slots=True)
class TargetCode:
    """What is held for one target; what is not held is left out of the JSON.

    ``other`` is code for the linker (link-time optimisation), which no device loads.
    """

    sass: CodeBytes | None = None
    ptx: CodeBytes | None = None
    other: CodeBytes | None = None

    @property
    def stored(self) -> int:
        """Bytes of all kinds, as stored."""
        return sum(held.stored for held in (self.sass, self.ptx, self.other) if held)


@dataclass(frozen=True, slots=True)
class Module:
    """One library. ``wheel_bytes`` is what it takes in the wheel, which for a bare file is its size."""

    name: str
    file_bytes: int
    wheel_bytes: int
    targets: dict[Target, TargetCode]


@dataclass(frozen=True, slots=True)
class Inventory:
    """Modules by name, targets ascending, each written like 9.0a."""

    wheel: str
    modules: list[Module]
    targets: dict[Target, TargetCode]

    def to_json(self) -> str:
        """Indented JSON with a newline at the end; equal inventories give equal bytes."""
        return json.dumps(self, default=_held, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def read(cls, path: Path) -> Inventory:
        """Read from ``path``. Raises `UsageError` if it is missing or is not such a record."""
        from pydantic import TypeAdapter

        from fatwheel.records.base import read_with

        return read_with(TypeAdapter(cls).validate_json, cls.__name__, path)


def _held(part: Inventory | Module | TargetCode | CodeBytes) -> dict[str, Any]:
    """The fields that are not None; targets as text."""
    held = {field.name: getattr(part, field.name) for field in fields(part)}
    if isinstance(part, Inventory | Module):
        held["targets"] = {str(target): code for target, code in part.targets.items()}
    return {name: value for name, value in held.items() if value is not None}
