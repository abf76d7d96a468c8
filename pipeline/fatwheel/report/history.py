"""Past releases, from a store's own listing: names, sizes and times; manifests tell which targets a wheel was for."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import ValidationError

from fatwheel.records.build import BuildRecord
from fatwheel.records.files import MANIFEST
from fatwheel.records.manifest import Manifest, ManifestAsset
from fatwheel.records.plan import Cell
from fatwheel.report.sizes import SizedWheel, Snapshot, is_wheel, kind_of, series_of
from fatwheel.stores.clock import Clock
from fatwheel.stores.directory import DirectoryStore
from fatwheel.stores.remote import ReadableStore, RemoteAsset, RemoteRelease
from fatwheel.stores.retry import Retrier, RetryPolicy

LARGEST_MANIFEST = 64 << 20  # bytes
MOST_RELEASES = 90
"""A quarter of nightlies: older ones say little of how a wheel grows now."""

T = TypeVar("T")


@dataclass(frozen=True)
class History:
    """Releases with wheels, the oldest first."""

    snapshots: tuple[Snapshot, ...]
    notes: tuple[str, ...] = ()


def read_history(
    store: ReadableStore,
    *,
    tags: re.Pattern[str] | None = None,
    most: int = MOST_RELEASES,
    clock: Clock | None = None,
    say: Callable[[str], None] | None = None,
) -> History:
    """The newest published releases that hold wheels; ``tags`` says which count, ``say`` hears of long waits.

    Raises `StoreFailure` for a store that cannot be read.
    """
    ask = _Asking(clock or Clock(), say)
    notes: list[str] = []
    found = [r for r in ask(store.releases) if not r.draft and (tags is None or tags.fullmatch(r.tag))]
    if len(found) > most:
        notes.append(f"of {len(found)} releases the newest {most} are looked at")
    snapshots = []
    for release in found[:most]:
        wheels = _wheels(store, release, ask, notes)
        if wheels:
            snapshots.append(Snapshot(release.tag, _time(release, wheels), wheels))
    snapshots.sort(key=lambda s: (s.day is not None, s.day or 0.0, s.tag))
    return History(tuple(snapshots), tuple(notes))


class _Asking:
    """Asks a store, as often as it takes."""

    def __init__(self, clock: Clock, say: Callable[[str], None] | None) -> None:
        self._clock = clock
        self._say = say

    def __call__(self, question: Callable[[], T]) -> T:
        retrying = Retrier(RetryPolicy(), self._clock, threading.Event(), self._waiting).retrying()
        return retrying(question)

    def _waiting(self, seconds: float) -> None:
        if self._say:
            self._say(f"the store asks to wait {seconds:.0f} s; with GITHUB_TOKEN it allows more")


def _wheels(store: ReadableStore, release: RemoteRelease, ask: _Asking, notes: list[str]) -> tuple[SizedWheel, ...]:
    assets = [asset for asset in ask(lambda: store.assets(release)) if asset.whole]
    manifest = next((asset for asset in assets if asset.name == MANIFEST), None)
    told = _manifest(store, release, manifest, ask, notes) if manifest else Manifest(tag=release.tag)
    about = {asset.name: asset for asset in told.assets}
    planned = {cell.wheel: cell for cell in told.plan.cells} if told.plan else {}
    root = store.root if isinstance(store, DirectoryStore) else None
    return tuple(
        SizedWheel(
            file=asset.name,
            series=series_of(asset.name),
            bytes=asset.size,
            cell=_cell(about.get(asset.name), planned.get(asset.name)),
            kind=(kind := kind_of(_build(about.get(asset.name)))),
            path=root / asset.id if root and kind != "placeholder" else None,
        )
        for asset in assets
        if is_wheel(asset.name)
    )


def _cell(about: ManifestAsset | None, planned: Cell | None) -> Cell | None:
    return about.build.cell if about and about.build else planned


def _build(about: ManifestAsset | None) -> BuildRecord | None:
    return about.build if about else None


def _manifest(
    store: ReadableStore, release: RemoteRelease, asset: RemoteAsset, ask: _Asking, notes: list[str]
) -> Manifest:
    if asset.size <= LARGEST_MANIFEST:
        try:
            return Manifest.model_validate_json(ask(lambda: b"".join(store.read(asset))))
        except ValidationError:
            pass
    notes.append(f"{release.tag}/{MANIFEST} is not a manifest of fatwheel's: what it says is not used")
    return Manifest(tag=release.tag)


def _time(release: RemoteRelease, wheels: tuple[SizedWheel, ...]) -> datetime | None:
    """When it was made: the day in a nightly's version, since a tag may be older than its release; else the store's."""
    days = {match[1] for wheel in wheels if (match := re.search(r"\.dev(20\d{6})", wheel.file))}
    try:
        if len(days) == 1:
            return datetime.strptime(days.pop(), "%Y%m%d").replace(tzinfo=UTC)
        time = datetime.fromisoformat(release.created)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
