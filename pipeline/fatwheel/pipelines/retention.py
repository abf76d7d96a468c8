"""Apply the retention of a channel in matrix.yaml to the releases of a store."""

from __future__ import annotations

from pathlib import Path

from fatwheel.clock import Clock
from fatwheel.declaration import load
from fatwheel.errors import ReleaseRefused, UsageError
from fatwheel.index import make_index
from fatwheel.release.inspection import Inspector
from fatwheel.release.retention import Pruning, RetentionPolicy, delete_releases, find_expired
from fatwheel.stores import open_store
from fatwheel.stores.remote import ReadableStore
from fatwheel.stores.store_errors import StoreFailure


def declared_retention(matrix: Path, channel: str) -> RetentionPolicy:
    """Return the retention of a channel. Raises `UsageError` if it has none."""
    declaration = load(matrix)
    found = declaration.find_channel(channel)
    retention = found.retention if found else None
    if found is None or retention is None:
        others = [f"-c {name}" for name, one in declaration.channels.items() if one.retention is not None]
        help = f"{' or '.join(others)} has one" if others else f"add `retention` to the channel {channel}"
        raise UsageError(f"the channel '{channel}' has no retention", where=str(matrix), help=help)
    return RetentionPolicy(found.tag, retention.releases, retention.days, nightly=channel == "nightly")


def expired_ids(store: ReadableStore, policy: RetentionPolicy) -> frozenset[str]:
    """Return the IDs of the releases that `fatwheel prune` would delete. Raises `StoreFailure`."""
    return frozenset(release.id for release in find_expired(store.releases(), policy, Clock().wall()).expired)


def prune(
    spec: str, policy: RetentionPolicy, *, apply: bool, index: Path | None, base_url: str | None
) -> tuple[Pruning, list[str]]:
    """Find the expired releases of a store; with ``apply``, delete them after their entries in the index.

    Returns what expires and what stays, and the releases that could not be deleted, with reasons. Raises
    `ReleaseRefused` if the store cannot be read.
    """
    store = open_store(spec, must_exist=True)
    inspector = Inspector(store)
    try:
        found = find_expired(inspector.requests.call(store.releases), policy, inspector.clock.wall())
    except StoreFailure as failure:
        raise ReleaseRefused(failure.what, where=spec, help=failure.help) from failure
    if not (apply and found.expired):
        return found, []
    if index:
        make_index(store.without(frozenset(release.id for release in found.expired)), index, base_url)
    return found, delete_releases(inspector, found.expired)
