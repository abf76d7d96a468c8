"""What the fake repository holds."""

from __future__ import annotations

import base64
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fatwheel.clock import Clock

STARTER, UPLOADED = "starter", "uploaded"
ZERO = "0" * 40
BAD_IN_NAMES = frozenset('":<>|*?\r\n\\/')  # of artifacts


@dataclass
class Asset:
    id: int
    name: str
    label: str | None = None
    state: str = STARTER
    size: int = 0
    digest: str | None = None
    content: bytes | None = None  # small ones only
    hidden: int = 0  # listings that do not show it yet
    settling: int = 0  # listings that show it half-uploaded, though all of it came
    created: str = ""


@dataclass
class Release:
    id: int
    tag: str
    target: str
    title: str
    body: str
    draft: bool
    prerelease: bool
    created: str
    published: str | None = None
    immutable: bool = False
    hidden: int = 0  # lists that do not show it yet
    assets: dict[int, Asset] = field(default_factory=dict)


@dataclass
class Artifact:
    id: int
    name: str
    content: bytes
    run: int
    expired: bool = False


class State:
    """One repository, with everything that a release touches. Guarded by ``lock``."""

    def __init__(self, repository: str, clock: Clock, *, immutable: bool = False, digests: bool = True) -> None:
        self.repository = repository
        self.clock = clock
        self.immutable = immutable  # what is published is locked
        self.digests = digests  # older servers have none
        self.may_write = True
        self.archived = False
        self.lock = threading.RLock()
        self.releases: dict[int, Release] = {}
        self.tags: dict[str, str] = {}
        self.burnt: set[str] = set()  # tags of immutable releases
        self.artifacts: dict[int, Artifact] = {}
        self.runs: dict[int, str] = {}  # the commit that each was started on
        self.attempts: dict[str, int] = {}  # uploads begun, by name
        self.log: list[dict[str, Any]] = []
        self._next = 1000

    def new_id(self) -> int:
        self._next += 1
        return self._next

    def now(self) -> str:
        return datetime.fromtimestamp(self.clock.wall(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def asset_of(self, asset_id: int) -> tuple[Release, Asset] | None:
        for release in self.releases.values():
            if asset_id in release.assets:
                return release, release.assets[asset_id]
        return None

    def add_release(self, tag: str, *, draft: bool = True, target: str = "main", **more: Any) -> Release:
        with self.lock:
            release = Release(
                self.new_id(), tag, target, more.get("title", tag), more.get("body", ""), draft,
                more.get("prerelease", False), self.now(),
            )  # fmt: skip
            self.releases[release.id] = release
            if not draft:
                self.publish(release)
            return release

    def publish(self, release: Release) -> None:
        release.draft = False
        release.published = self.now()
        release.immutable = self.immutable
        if self.immutable:
            self.burnt.add(release.tag)
        self.tags.setdefault(release.tag, release.target if len(release.target) == 40 else ZERO)

    def add_asset(self, release: Release, name: str, **facts: Any) -> Asset:
        with self.lock:
            asset = Asset(self.new_id(), name, created=self.now(), **facts)
            release.assets[asset.id] = asset
            return asset

    def add_artifact(self, run: int, name: str, content: bytes) -> Artifact:
        with self.lock:
            artifact = Artifact(self.new_id(), name, content, run)
            self.artifacts[artifact.id] = artifact
            return artifact

    def upload_artifact(self, *, run: int, name: str, content: str, overwrite: bool) -> int:
        """What the artifact service does, with base64: 409 for a name that the run has, 400 for one that is none."""
        with self.lock:
            if not name or not BAD_IN_NAMES.isdisjoint(name):
                return 400
            same = [one.id for one in self.artifacts.values() if one.run == run and one.name == name]
            if same and not overwrite:
                return 409
            for held in same:
                del self.artifacts[held]
            self.add_artifact(run, name, base64.b64decode(content))
            return 201
