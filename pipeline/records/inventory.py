"""What device code a wheel or a library holds: for each module and target, the bytes of machine code and of PTX."""

from __future__ import annotations

from typing import Any

from pydantic import SerializerFunctionWrapHandler, model_serializer

from pipeline.records.base import Record


class CodeBytes(Record):
    """Bytes of one kind of code: as stored in the fat binaries, and decompressed."""

    stored: int
    raw: int

    def __add__(self, other: CodeBytes) -> CodeBytes:
        return CodeBytes(stored=self.stored + other.stored, raw=self.raw + other.raw)


class TargetCode(Record):
    """What is held for one target; what is not held is left out of the JSON.

    ``other`` is code for the linker (link-time optimisation), which no device loads.
    """

    sass: CodeBytes | None = None
    ptx: CodeBytes | None = None
    other: CodeBytes | None = None

    @model_serializer(mode="wrap")
    def _held_only(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {kind: held for kind, held in serialise(self).items() if held is not None}

    @property
    def stored(self) -> int:
        """Bytes of all kinds, as stored."""
        return sum(held.stored for held in (self.sass, self.ptx, self.other) if held)


class Module(Record):
    """One library. ``wheel_bytes`` is what it takes in the wheel, which for a bare file is its size."""

    name: str
    file_bytes: int
    wheel_bytes: int
    targets: dict[str, TargetCode]


class Inventory(Record):
    """Modules by name, targets ascending, each written like 9.0a."""

    wheel: str
    modules: list[Module]
    targets: dict[str, TargetCode]
