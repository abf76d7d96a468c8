"""Read past releases from a store: wheel names, sizes and times; the targets come from manifests, if any."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from pydantic import ValidationError

from fatwheel.clock import Clock
from fatwheel.records.build import BuildRecord
from fatwheel.records.files import MANIFEST, MAX_RECORD_BYTES
from fatwheel.records.manifest import Manifest, ManifestAsset
from fatwheel.records.plan import Cell
from fatwheel.report.snapshots import SizedWheel, Snapshot, is_wheel, kind_of, series_of
from fatwheel.stores.remote import ReadableStore, RemoteAsset, RemoteRelease
from fatwheel.stores.retry import Retrier, RetryPolicy

MAX_RELEASES = 90
"""Three months of nightlies; older ones are not representative of the current growth."""

T = TypeVar("T")


@dataclass(frozen=True)
class History:
    """Releases that contain wheels, the oldest first."""

    snapshots: tuple[Snapshot, ...]
    notes: tuple[str, ...] = ()


def read_history(
    store: ReadableStore,
    *,
    tags: re.Pattern[str] | None = None,
    most: int = MAX_RELEASES,
    clock: Clock | None = None,
    notify: Callable[[str], None] | None = None,
) -> History:
    """Read the newest ``most`` published releases that contain wheels.

    ``tags`` selects releases by tag; long waits are reported to ``notify``. Raises `StoreFailure` if the store cannot
    be read.
    """
    ask = _RetryingReader(clock or Clock(), notify)
    notes: list[str] = []
    found = [r for r in ask(store.releases) if not r.draft and (tags is None or tags.fullmatch(r.tag))]
    if len(found) > most:
        notes.append(f"read only the newest {most} of {len(found)} releases")
    snapshots = []
    for release in found[:most]:
        wheels = _wheels(store, release, ask, notes)
        if wheels:
            snapshots.append(Snapshot(release.tag, _time(release, wheels), wheels))
    snapshots.sort(key=lambda s: (s.day is not None, s.day or 0.0, s.tag))
    return History(tuple(snapshots), tuple(notes))


class _RetryingReader:
    """Calls a store, with retries."""

    def __init__(self, clock: Clock, notify: Callable[[str], None] | None) -> None:
        self._clock = clock
        self._notify = notify

    def __call__(self, request: Callable[[], T]) -> T:
        retrier = Retrier(RetryPolicy(), self._clock, threading.Event(), on_limit=self._waiting)
        return retrier.call(request)

    def _waiting(self, seconds: float) -> None:
        if self._notify:
            self._notify(f"rate limited, retrying in {seconds:.0f} s; set GITHUB_TOKEN to raise the limit")


def _wheels(
    store: ReadableStore, release: RemoteRelease, ask: _RetryingReader, notes: list[str]
) -> tuple[SizedWheel, ...]:
    assets = [asset for asset in ask(lambda: store.assets(release)) if asset.whole]
    manifest = next((asset for asset in assets if asset.name == MANIFEST), None)
    read = _read_manifest(store, release, manifest, ask, notes) if manifest else Manifest(tag=release.tag)
    described = {asset.name: asset for asset in read.assets}
    planned = {cell.wheel: cell for cell in read.plan.cells} if read.plan else {}
    return tuple(
        SizedWheel(
            file=asset.name,
            series=series_of(asset.name),
            bytes=asset.size,
            cell=_cell(described.get(asset.name), planned.get(asset.name)),
            kind=(kind := kind_of(_build(described.get(asset.name)))),
            path=store.local_path(asset) if kind != "placeholder" else None,
        )
        for asset in assets
        if is_wheel(asset.name)
    )


def _cell(described: ManifestAsset | None, planned: Cell | None) -> Cell | None:
    return described.build.cell if described and described.build else planned


def _build(described: ManifestAsset | None) -> BuildRecord | None:
    return described.build if described else None


def _read_manifest(
    store: ReadableStore, release: RemoteRelease, asset: RemoteAsset, ask: _RetryingReader, notes: list[str]
) -> Manifest:
    if asset.size <= MAX_RECORD_BYTES:
        try:
            return Manifest.model_validate_json(ask(lambda: b"".join(store.read(asset))))
        except ValidationError:
            pass
    notes.append(f"{release.tag}/{MANIFEST}: ignored, since it is not a fatwheel manifest")
    return Manifest(tag=release.tag)


def _time(release: RemoteRelease, wheels: tuple[SizedWheel, ...]) -> datetime | None:
    """When the release was made: the date in a nightly version if there is one, else the store's time."""
    days = {match[1] for wheel in wheels if (match := re.search(r"\.dev(20\d{6})", wheel.file))}
    try:
        if len(days) == 1:
            return datetime.strptime(days.pop(), "%Y%m%d").replace(tzinfo=UTC)
        time = datetime.fromisoformat(release.created)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
