"""What a repack says: the wheel that was, the one that is, and what became different."""

from __future__ import annotations

from fatwheel.digests import Digest
from fatwheel.records.base import Record


class StrippedLibrary(Record):
    """A library that lost its debug information; sizes in bytes."""

    name: str
    before: int
    after: int


class RepackRecord(Record):
    """Sizes in bytes. ``level`` is null where members kept their compressed bytes; ``tool`` compressed the others.

    ``says_old`` are files that still hold the old version as text: the wheel's own, which only its project can judge.
    """

    wheel: str
    bytes: int
    sha256: Digest
    from_wheel: str
    from_bytes: int
    level: int | None
    tool: str
    excluded: list[str] = []
    stripped: list[StrippedLibrary] = []
    rewritten: list[str] = []
    says_old: list[str] = []
    sbom: str | None = None
