"""Several stores read as one: what an index is made from whose channels go to different repositories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from fatwheel.digests import Digest
from fatwheel.stores.remote import ReadableStore, RemoteAsset, RemoteRelease, Rules

_BETWEEN = "/"


class MultiStore:
    """All releases of some stores. Ids bear the store's number before them: ``0/1234``."""

    def __init__(self, stores: Sequence[ReadableStore]) -> None:
        self._stores = tuple(stores)

    @property
    def spec(self) -> str:
        """The stores, as a person names them."""
        return ", ".join(store.spec for store in self._stores)

    def rules(self) -> Rules:
        """What the first of them accepts."""
        return self._stores[0].rules()

    def releases(self) -> tuple[RemoteRelease, ...]:
        """All of them, newest first."""
        found = [self._ours(n, release) for n, store in enumerate(self._stores) for release in store.releases()]
        return tuple(sorted(found, key=lambda release: release.created, reverse=True))

    def without(self, hidden: frozenset[str]) -> Self:
        """The same, without releases of these ids."""
        parts = [
            store.without(frozenset(own for i in hidden for at, _, own in [i.partition(_BETWEEN)] if at == str(n)))
            for n, store in enumerate(self._stores)
        ]
        return type(self)(parts)

    def find(self, tag: str) -> tuple[RemoteRelease, ...]:
        """The releases of a tag, store by store."""
        return tuple(self._ours(n, release) for n, store in enumerate(self._stores) for release in store.find(tag))

    def by_id(self, release_id: str) -> RemoteRelease | None:
        """One release by its id."""
        number, own = self._theirs(release_id)
        found = self._stores[number].by_id(own)
        return self._ours(number, found) if found else None

    def assets(self, release: RemoteRelease) -> tuple[RemoteAsset, ...]:
        """All assets of a release."""
        number, own = self._theirs(release.id)
        found = self._stores[number].assets(replace(release, id=own))
        return tuple(replace(asset, id=f"{number}{_BETWEEN}{asset.id}") for asset in found)

    def mark(self, release: RemoteRelease) -> None:
        """None: stores may share a tag."""

    def folders(self) -> tuple[Path, ...]:
        """Return the folders of those stores that have one."""
        return tuple(folder for store in self._stores for folder in store.folders())

    def local_path(self, asset: RemoteAsset) -> Path | None:
        """Return the local file of an asset, if it has one."""
        number, own = self._theirs(asset.id)
        return self._stores[number].local_path(replace(asset, id=own))

    def link(self, release: RemoteRelease, asset: RemoteAsset, start: Path) -> str | None:
        """Return the URL that an asset has in its own store."""
        number, release_id = self._theirs(release.id)
        _, asset_id = self._theirs(asset.id)
        return self._stores[number].link(replace(release, id=release_id), replace(asset, id=asset_id), start)

    def read(self, asset: RemoteAsset) -> Iterator[bytes]:
        """The asset's bytes."""
        number, own = self._theirs(asset.id)
        return self._stores[number].read(replace(asset, id=own))

    def digest(self, asset: RemoteAsset) -> Digest:
        """The asset's digest."""
        number, own = self._theirs(asset.id)
        return self._stores[number].digest(replace(asset, id=own))

    def _ours(self, number: int, release: RemoteRelease) -> RemoteRelease:
        return replace(release, id=f"{number}{_BETWEEN}{release.id}")

    def _theirs(self, ours: str) -> tuple[int, str]:
        number, _, own = ours.partition(_BETWEEN)
        return int(number), own
