"""The result of repacking a wheel: sizes before and after, and what changed."""

from __future__ import annotations

from fatwheel.digests import Digest
from fatwheel.records.base import Record


class StrippedLibrary(Record):
    """A library stripped of debug information; sizes in bytes."""

    name: str
    before: int
    after: int


class RepackRecord(Record):
    """Sizes in bytes. ``level`` is null if members kept their compressed bytes; ``tool`` compressed the others.

    ``excluded``, ``rewritten`` and ``outdated_texts`` (files that still contain the old version, which only the project
    can correct) are member names of the original wheel; ``sbom`` is one of the new wheel.
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
    outdated_texts: list[str] = []
    sbom: str | None = None
