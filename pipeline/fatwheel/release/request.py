"""What one release is asked to do, and who hears of its progress."""

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
    """The files and what is to become of them. ``size_limit`` in bytes; None is the plan's or the store's own.

    ``run`` gives the artifacts of a workflow run, besides the files; ``release_id`` is the release that an earlier
    run wrote to, which a list may not show yet. ``over``: what becomes of a file over the limit, where ``elsewhere``
    is a store that takes it.

    Without a plan it is a partial one: what passed is published, and the rest is told.
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
        """Whether its page says that it is none of the releases proper: every channel's but one."""
        return self.plan is not None and self.plan.channel != "release"

    @property
    def whole(self) -> bool:
        """Whether it may be published only when nothing is missing."""
        return self.plan is not None and self.plan.completeness == "complete"


class ProgressListener(Protocol):
    """Hears what happens, from several threads."""

    def say(self, text: str) -> None:
        """A line for people."""

    def hashed(self, file: HashedFile) -> None:
        """A digest that need not be computed again."""

    def opened(self, release_id: str) -> None:
        """The release that is written to."""

    def sent(self, name: str, taken: int, size: int) -> None:
        """Bytes of one attempt so far."""

    def settled(self, record: AssetRecord) -> None:
        """An asset's final outcome."""


class NullProgress:
    """Hears nothing."""

    def say(self, text: str) -> None:
        """Pass over."""

    def hashed(self, file: HashedFile) -> None:
        """Pass over."""

    def opened(self, release_id: str) -> None:
        """Pass over."""

    def sent(self, name: str, taken: int, size: int) -> None:
        """Pass over."""

    def settled(self, record: AssetRecord) -> None:
        """Pass over."""
