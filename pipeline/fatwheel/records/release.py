"""The record of a release, with the outcome of each expected asset, and the journal for resuming it."""

from __future__ import annotations

from typing import Literal

from fatwheel.digests import Digest
from fatwheel.records.base import Record

AssetOutcome = Literal[
    "uploaded", "identical", "adopted", "replaced", "withheld", "conflict", "failed", "missing", "not-sent"
]
LIVE: frozenset[str] = frozenset({"uploaded", "identical", "adopted", "replaced"})


class AssetRecord(Record):
    """An expected asset. Sizes in bytes; ``reason``: why it was not uploaded, else empty.

    ``elsewhere``: the fallback store of an asset that is too large.
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
        """Whether it is in the release."""
        return self.outcome in LIVE

    @property
    def settled(self) -> bool:
        """Whether it is in the release or in the fallback store."""
        return self.live or self.elsewhere is not None


class ReleaseRecord(Record):
    """The outcome of a release."""

    tag: str
    store: str
    published: bool
    commit: str | None = None
    assets: list[AssetRecord]
    notes: list[str] = []
    refused: str | None = None  # why nothing was uploaded


class HashedFile(Record):
    """The digest of a file, valid while its size (bytes) and modification time (nanoseconds) are unchanged."""

    path: str
    size: int
    mtime_ns: int
    sha256: Digest


class ReleaseJournal(Record):
    """The release journal, written during a release: the request, digests of files, and outcomes so far."""

    store: str
    tag: str
    files: list[str]  # absolute paths
    plan: str | None = None  # absolute path
    matrix: str | None = None  # absolute path
    commit: str | None = None
    draft: bool = False
    metadata: bool = True
    replace: list[str] = []
    run: str | None = None  # workflow run with the wheels
    release_id: str | None = None
    hashed: list[HashedFile] = []
    assets: list[AssetRecord] = []
    finished: bool = False
