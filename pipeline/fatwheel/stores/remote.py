"""What a store holds, as data, and the two doors to it: reading and writing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from fatwheel.digests import Digest
from fatwheel.records.files import SIZE_LIMIT
from fatwheel.stores.body import Body

UPLOADED = "uploaded"
STARTER = "starter"  # an upload that broke off: a row without bytes that still blocks its name

ASSET_LIMIT = 1000
"""Assets in one GitHub release; the 1001st is refused with the code `file_count`."""


@dataclass(frozen=True)
class RemoteAsset:
    """One file of a release. ``size`` in bytes; ``digest`` is None where the store keeps none.

    ``changed`` is a mark that is another one when the bytes are; None where there is none.
    """

    id: str
    name: str
    size: int
    state: str = UPLOADED
    digest: Digest | None = None
    url: str | None = None  # where a user downloads it; None before it is published
    changed: str | None = None

    @property
    def whole(self) -> bool:
        """Whether all of its bytes arrived."""
        return self.state == UPLOADED


@dataclass(frozen=True)
class RemoteRelease:
    """One release, published or a draft. ``commit`` is the commit (or branch) that its tag is made of, if known."""

    id: str
    tag: str
    draft: bool
    immutable: bool = False
    commit: str | None = None
    prerelease: bool = False
    created: str = ""  # ISO 8601, UTC
    url: str | None = None
    upload_url: str | None = None
    notes: str = ""  # the text of its page


@dataclass(frozen=True)
class Rules:
    """What a store accepts.

    ``paced``: writes are limited per minute and hour. ``whole``: no slices or placeholders. ``hard``: its size limit
    holds whatever a declaration says.
    """

    size_limit: int = SIZE_LIMIT
    asset_limit: int = ASSET_LIMIT
    paced: bool = False
    whole: bool = False
    hard: bool = False


class ReadableStore(Protocol):
    """What a store shows. All methods raise `fatwheel.stores.store_errors.StoreFailure`."""

    @property
    def spec(self) -> str:
        """The store as a person names it: ``dir:PATH`` or ``github:OWNER/REPO``."""

    def rules(self) -> Rules:
        """What it accepts."""

    def releases(self) -> tuple[RemoteRelease, ...]:
        """All releases and those drafts that may be seen, newest first."""

    def without(self, hidden: frozenset[str]) -> Self:
        """The same store, which does not show releases of these ids among all."""

    def find(self, tag: str) -> tuple[RemoteRelease, ...]:
        """The published release of a tag, if there is one, and then the drafts that can be seen, oldest first."""

    def by_id(self, release_id: str) -> RemoteRelease | None:
        """One release by its id, also a draft that a list does not show yet; None if there is none."""

    def assets(self, release: RemoteRelease) -> tuple[RemoteAsset, ...]:
        """All assets of a release, half-uploaded ones too, by name."""

    def mark(self, release: RemoteRelease) -> str | None:
        """Something that is another one when any of its assets is; None where listing them is no dearer."""

    def folders(self) -> tuple[Path, ...]:
        """Return the local folders that contain the releases; none for a store on another machine."""

    def local_path(self, asset: RemoteAsset) -> Path | None:
        """Return the local file of an asset, or None for a store on another machine."""

    def link(self, release: RemoteRelease, asset: RemoteAsset, start: Path) -> str | None:
        """Return the percent-encoded URL of a published asset; None if it has no URL that ends in its name.

        A store in a folder returns a URL relative to the folder ``start``.
        """

    def read(self, asset: RemoteAsset) -> Iterator[bytes]:
        """The asset's bytes, in chunks."""

    def digest(self, asset: RemoteAsset) -> Digest:
        """The digest of an asset: as the store reports it, else from reading it."""


class WritableStore(Protocol):
    """What changes a store. Every method is one request; none of them retries."""

    def check(self, tag: str, commit: str | None) -> tuple[str, ...]:
        """Raise for what would be refused later anyhow; return notes on what cannot be learnt."""

    def create_draft(
        self, tag: str, *, commit: str | None, title: str, notes: str, prerelease: bool = False
    ) -> RemoteRelease:
        """Make a draft of a tag. The tag itself comes with publishing."""

    def upload(self, release: RemoteRelease, name: str, body: Body) -> RemoteAsset:
        """Send one asset; the answer is what the store says that it now holds."""

    def rename(self, release: RemoteRelease, asset: RemoteAsset, name: str) -> RemoteAsset:
        """Give an asset another name."""

    def delete(self, release: RemoteRelease, asset: RemoteAsset) -> None:
        """Remove an asset. One that is gone already is no failure."""

    def publish(self, release: RemoteRelease, *, commit: str | None, notes: str | None) -> RemoteRelease:
        """Make a draft public."""

    def describe(self, release: RemoteRelease, notes: str) -> None:
        """Give a release's page another text."""

    def delete_release(self, release: RemoteRelease) -> None:
        """Remove a release with its assets, and its tag if it was published."""


class Store(ReadableStore, WritableStore, Protocol):
    """Both doors."""
