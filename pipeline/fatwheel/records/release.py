"""What a release did: one outcome for each wanted asset; and the journal from which a killed run resumes."""

from __future__ import annotations

from typing import Literal

from fatwheel.digests import Digest
from fatwheel.records.base import Record

AssetOutcome = Literal[
    "uploaded", "identical", "adopted", "replaced", "withheld", "conflict", "failed", "missing", "not-sent"
]
LIVE: frozenset[str] = frozenset({"uploaded", "identical", "adopted", "replaced"})


class AssetRecord(Record):
    """One wanted asset. Sizes in bytes; ``reason`` says why it is not live, or is empty.

    ``elsewhere`` is the other store that holds one which is too large for this one.
    """

    name: str
    outcome: AssetOutcome
    size: int | None = None
    sha256: Digest | None = None
    attempts: int = 0
    bytes_sent: int = 0
    reason: str = ""
    elsewhere: str | None = None

    @property
    def live(self) -> bool:
        """Whether the store holds it now."""
        return self.outcome in LIVE

    @property
    def settled(self) -> bool:
        """Whether it is where it should be: here, or where the declaration sends what is too large."""
        return self.live or self.elsewhere is not None


class ReleaseRecord(Record):
    """The whole release as it stands at the end."""

    tag: str
    store: str
    published: bool
    commit: str | None = None
    assets: list[AssetRecord]
    notes: list[str] = []
    refused: str | None = None  # why the release must not change; nothing was sent


class HashedFile(Record):
    """A file's digest, true as long as its size (bytes) and modification time (nanoseconds) stay."""

    path: str
    size: int
    mtime_ns: int
    sha256: Digest


class ReleaseJournal(Record):
    """Written as a release goes on: what was asked for, what was hashed, and what is settled so far."""

    store: str
    tag: str
    files: list[str]  # absolute paths
    plan: str | None = None  # absolute path
    matrix: str | None = None  # absolute path
    commit: str | None = None
    draft: bool = False
    metadata: bool = True
    replace: list[str] = []
    run: str | None = None  # a workflow run that the wheels come from
    release_id: str | None = None
    hashed: list[HashedFile] = []
    assets: list[AssetRecord] = []
    finished: bool = False
