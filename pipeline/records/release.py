"""What a release did: one outcome for each wanted asset."""

from __future__ import annotations

from typing import Literal

from pipeline.records.base import Record

AssetOutcome = Literal[
    "uploaded", "identical", "adopted", "replaced", "withheld", "conflict", "failed", "missing", "not-sent"
]
LIVE: frozenset[str] = frozenset({"uploaded", "identical", "adopted", "replaced"})


class AssetRecord(Record):
    """One wanted asset. Sizes in bytes; ``reason`` says why it is not live, or is empty."""

    name: str
    outcome: AssetOutcome
    size: int | None = None
    sha256: str | None = None
    attempts: int = 0
    bytes_sent: int = 0
    reason: str = ""

    @property
    def live(self) -> bool:
        """Whether the store holds it now."""
        return self.outcome in LIVE


class ReleaseRecord(Record):
    """The whole release as it stands at the end."""

    tag: str
    store: str
    published: bool
    commit: str | None = None
    assets: list[AssetRecord]
    notes: list[str] = []
