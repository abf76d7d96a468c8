"""The request for one release, and the listeners to its progress."""

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
    """The files to release, and the options. ``size_limit`` in bytes; None means that of the plan or of the store.

    ``run`` adds the artifacts of a workflow run to the files. ``release_id`` is the release that an interrupted run
    wrote to, in case the store does not list it yet. ``over`` is the action for a file over the limit; ``elsewhere``
    is the fallback store.

    Without a plan, the release is partial: passing files are published, and the others are reported.
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
        """Whether the store marks it as a prerelease: true for every channel except `release`."""
        return self.plan is not None and self.plan.channel != "release"

    @property
    def whole(self) -> bool:
        """Whether it may be published only if no asset is missing."""
        return self.plan is not None and self.plan.completeness == "complete"


class ProgressListener(Protocol):
    """Receives events, from several threads."""

    def say(self, text: str) -> None:
        """Show a line of text."""

    def hashed(self, file: HashedFile) -> None:
        """Receive a digest, so that a resumed run does not compute it again."""

    def opened(self, release_id: str) -> None:
        """Receive the ID of the release that is written to."""

    def sent(self, name: str, taken: int, size: int) -> None:
        """Receive the bytes sent so far in one attempt."""

    def settled(self, record: AssetRecord) -> None:
        """Receive the final outcome of an asset."""


class NullProgress:
    """Ignores all events."""

    def say(self, text: str) -> None:
        """Ignore."""

    def hashed(self, file: HashedFile) -> None:
        """Ignore."""

    def opened(self, release_id: str) -> None:
        """Ignore."""

    def sent(self, name: str, taken: int, size: int) -> None:
        """Ignore."""

    def settled(self, record: AssetRecord) -> None:
        """Ignore."""
