"""The request for one release, and the interface of progress listeners."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from fatwheel.records.plan import Plan
from fatwheel.records.release import AssetRecord, HashedFile
from fatwheel.stores.artifacts import WorkflowRun
from fatwheel.stores.remote import Store


@dataclass(frozen=True)
class ReleaseRequest:
    """The files to release, and how. ``size_limit`` in bytes; None: that of the plan or the store.

    ``run``: a workflow run whose artifacts are released too. ``release_id``: the release of an interrupted run, which
    a listing may not show yet. ``over``: what to do with files over the limit; ``elsewhere`` is the fallback store.

    Without a plan the release may be partial: valid assets are published, and the others are reported.
    """

    tag: str
    files: tuple[Path, ...]
    plan: Plan | None = None
    commit: str | None = None
    size_limit: int | None = None
    over: Literal["withhold", "fail", "elsewhere"] = "withhold"
    elsewhere: Store | None = None
    draft: bool = False
    dry_run: bool = False
    metadata: bool = True
    replace: frozenset[str] = frozenset()
    run: WorkflowRun | None = None
    release_id: str | None = None
    hashed: tuple[HashedFile, ...] = field(default=())

    @property
    def prerelease(self) -> bool:
        """Whether the release is marked as a prerelease: true for every channel except ``release``."""
        return self.plan is not None and self.plan.channel != "release"

    @property
    def whole(self) -> bool:
        """Whether it may be published only if no asset is missing."""
        return self.plan is not None and self.plan.completeness == "complete"


class ProgressListener(Protocol):
    """Receives the events of a release, from several threads."""

    def say(self, text: str) -> None:
        """A message to print."""

    def hashed(self, file: HashedFile) -> None:
        """A file was hashed."""

    def opened(self, release_id: str) -> None:
        """The release was found or created."""

    def sent(self, name: str, taken: int, size: int) -> None:
        """The bytes sent so far in the current attempt."""

    def settled(self, record: AssetRecord) -> None:
        """The final outcome of an asset is known."""


class NullProgress:
    """Ignores all events."""

    def say(self, text: str) -> None:
        """Do nothing."""

    def hashed(self, file: HashedFile) -> None:
        """Do nothing."""

    def opened(self, release_id: str) -> None:
        """Do nothing."""

    def sent(self, name: str, taken: int, size: int) -> None:
        """Do nothing."""

    def settled(self, record: AssetRecord) -> None:
        """Do nothing."""
