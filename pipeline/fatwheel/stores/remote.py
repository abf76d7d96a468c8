"""The content of a store as data, and the protocols for reading and writing it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from fatwheel.digests import Digest
from fatwheel.records.files import SIZE_LIMIT
from fatwheel.stores.body import Body

UPLOADED = "uploaded"
STARTER = "starter"  # a partial upload: it has no content but blocks its name

ASSET_LIMIT = 1000
"""Assets in one GitHub release; the 1001st is rejected with the code `file_count`."""


@dataclass(frozen=True)
class RemoteAsset:
    """One file of a release. ``size`` in bytes; ``digest`` is None where the store keeps none.

    ``changed`` differs whenever the content does; None if the store has no such value.
    """

    id: str
    name: str
    size: int
    state: str = UPLOADED
    digest: Digest | None = None
    url: str | None = None  # download URL; None before the release is published
    changed: str | None = None

    @property
    def whole(self) -> bool:
        """Whether the upload is complete."""
        return self.state == UPLOADED


@dataclass(frozen=True)
class RemoteRelease:
    """One release, published or a draft. ``commit``: the commit or branch of its tag, if known."""

    id: str
    tag: str
    draft: bool
    immutable: bool = False
    commit: str | None = None
    prerelease: bool = False
    created: str = ""  # ISO 8601, UTC
    url: str | None = None
    upload_url: str | None = None
    notes: str = ""  # Markdown


@dataclass(frozen=True)
class Rules:
    """The limits of a store. ``size_limit``: bytes that an asset must stay below."""

    size_limit: int = SIZE_LIMIT
    asset_limit: int = ASSET_LIMIT
    paced: bool = False  # writes are limited per minute and hour
    whole: bool = False  # partial and placeholder wheels are not accepted
    hard: bool = False  # matrix.yaml cannot raise the size limit


class ReadableStore(Protocol):
    """A store that can be read. All methods raise `fatwheel.stores.store_errors.StoreFailure`."""

    @property
    def spec(self) -> str:
        """``dir:PATH`` or ``github:OWNER/REPO``."""

    def rules(self) -> Rules:
        """Return the limits of the store."""

    def releases(self) -> tuple[RemoteRelease, ...]:
        """Return all releases and visible drafts, newest first."""

    def without(self, hidden: frozenset[str]) -> Self:
        """Return a view of the store whose `releases` exclude these IDs."""

    def find(self, tag: str) -> tuple[RemoteRelease, ...]:
        """Return the published release of a tag, if any, then the visible drafts, oldest first."""

    def by_id(self, release_id: str) -> RemoteRelease | None:
        """Return the release with this ID, including drafts that `releases` does not list yet; None if missing."""

    def assets(self, release: RemoteRelease) -> tuple[RemoteAsset, ...]:
        """Return all assets of a release by name, including partial uploads."""

    def mark(self, release: RemoteRelease) -> str | None:
        """Return a value that differs whenever any asset does; None if listing the assets costs no more."""

    def folders(self) -> tuple[Path, ...]:
        """Return the local folders that contain the releases; none for a store on another machine."""

    def local_path(self, asset: RemoteAsset) -> Path | None:
        """Return the local file of an asset, or None for a store on another machine."""

    def link(self, release: RemoteRelease, asset: RemoteAsset, start: Path) -> str | None:
        """Return the percent-encoded URL of a published asset; None if it has no URL that ends in its name.

        A store in a folder returns a URL relative to the folder ``start``.
        """

    def read(self, asset: RemoteAsset) -> Iterator[bytes]:
        """Yield the content of an asset in chunks."""

    def digest(self, asset: RemoteAsset) -> Digest:
        """The digest of an asset: as the store reports it, else from reading it."""


class WritableStore(Protocol):
    """A store that can be changed. Every method makes one request, without retries."""

    def check(self, tag: str, commit: str | None) -> tuple[str, ...]:
        """Raise for a release that the store would reject later; return notes on what cannot be checked."""

    def create_draft(
        self, tag: str, *, commit: str | None, title: str, notes: str, prerelease: bool = False
    ) -> RemoteRelease:
        """Create a draft for a tag. Publishing it creates the tag."""

    def upload(self, release: RemoteRelease, name: str, body: Body) -> RemoteAsset:
        """Upload one asset; returns the asset as the store describes it."""

    def rename(self, release: RemoteRelease, asset: RemoteAsset, name: str) -> RemoteAsset:
        """Rename an asset."""

    def delete(self, release: RemoteRelease, asset: RemoteAsset) -> None:
        """Delete an asset, if it exists."""

    def publish(self, release: RemoteRelease, *, commit: str | None, notes: str | None) -> RemoteRelease:
        """Publish a draft."""

    def describe(self, release: RemoteRelease, notes: str) -> None:
        """Replace the notes of a release."""

    def delete_release(self, release: RemoteRelease) -> None:
        """Delete a release with its assets, and its tag if it is published."""


class Store(ReadableStore, WritableStore, Protocol):
    """A store that can be read and changed."""
