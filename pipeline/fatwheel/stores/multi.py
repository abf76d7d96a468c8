"""Several stores read as one, for an index whose channels are released to different repositories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from fatwheel.digests import Digest
from fatwheel.stores.remote import ReadableStore, RemoteAsset, RemoteRelease, Rules

_SEPARATOR = "/"


class MultiStore:
    """All releases of several stores. IDs start with the index of their store: ``0/1234``."""

    def __init__(self, stores: Sequence[ReadableStore]) -> None:
        self._stores = tuple(stores)

    @property
    def spec(self) -> str:
        """The specs of the stores, joined by commas."""
        return ", ".join(store.spec for store in self._stores)

    def rules(self) -> Rules:
        """Return the rules of the first store."""
        return self._stores[0].rules()

    def releases(self) -> tuple[RemoteRelease, ...]:
        """Return the releases of all stores, newest first."""
        found = [self._with_number(n, release) for n, store in enumerate(self._stores) for release in store.releases()]
        return tuple(sorted(found, key=lambda release: release.created, reverse=True))

    def without(self, hidden: frozenset[str]) -> Self:
        """Return a view of the stores whose `releases` exclude these IDs."""
        parts = [
            store.without(frozenset(own for i in hidden for at, _, own in [i.partition(_SEPARATOR)] if at == str(n)))
            for n, store in enumerate(self._stores)
        ]
        return type(self)(parts)

    def find(self, tag: str) -> tuple[RemoteRelease, ...]:
        """Return the releases of a tag, store by store."""
        return tuple(
            self._with_number(n, release) for n, store in enumerate(self._stores) for release in store.find(tag)
        )

    def by_id(self, release_id: str) -> RemoteRelease | None:
        """Return the release with this ID."""
        number, own = self._split_id(release_id)
        found = self._stores[number].by_id(own)
        return self._with_number(number, found) if found else None

    def assets(self, release: RemoteRelease) -> tuple[RemoteAsset, ...]:
        """Return all assets of a release."""
        number, own = self._split_id(release.id)
        found = self._stores[number].assets(replace(release, id=own))
        return tuple(replace(asset, id=f"{number}{_SEPARATOR}{asset.id}") for asset in found)

    def mark(self, release: RemoteRelease) -> None:
        """Return None: the stores may share a tag."""

    def folders(self) -> tuple[Path, ...]:
        """Return the folders of those stores that have one."""
        return tuple(folder for store in self._stores for folder in store.folders())

    def local_path(self, asset: RemoteAsset) -> Path | None:
        """Return the local file of an asset, if it has one."""
        number, own = self._split_id(asset.id)
        return self._stores[number].local_path(replace(asset, id=own))

    def link(self, release: RemoteRelease, asset: RemoteAsset, start: Path) -> str | None:
        """Return the URL that an asset has in its own store."""
        number, release_id = self._split_id(release.id)
        _, asset_id = self._split_id(asset.id)
        return self._stores[number].link(replace(release, id=release_id), replace(asset, id=asset_id), start)

    def read(self, asset: RemoteAsset) -> Iterator[bytes]:
        """Yield the content of an asset."""
        number, own = self._split_id(asset.id)
        return self._stores[number].read(replace(asset, id=own))

    def digest(self, asset: RemoteAsset) -> Digest:
        """Return the digest of an asset."""
        number, own = self._split_id(asset.id)
        return self._stores[number].digest(replace(asset, id=own))

    def _with_number(self, number: int, release: RemoteRelease) -> RemoteRelease:
        return replace(release, id=f"{number}{_SEPARATOR}{release.id}")

    def _split_id(self, number_and_id: str) -> tuple[int, str]:
        number, _, own = number_and_id.partition(_SEPARATOR)
        return int(number), own
