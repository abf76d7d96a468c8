"""The release stores of a command: the given ones, else the repository of a channel in matrix.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fatwheel.declaration import load
from fatwheel.errors import UsageError
from fatwheel.stores import open_store
from fatwheel.stores.multi import MultiStore
from fatwheel.stores.remote import ReadableStore


def choose_store_spec(spec: str | None, matrix: Path | None, channel: str = "release") -> str:
    """Return ``spec``, else the store of the channel's repository. Raises `UsageError` if there is neither."""
    if spec:
        return spec
    if matrix and (found := channel_store_spec(matrix, channel)):
        return found
    raise UsageError(
        "no store given", help=f"give --store STORE, or set `repository` for channel {channel} in matrix.yaml"
    )


def channel_store_spec(matrix: Path, channel: str) -> str | None:
    """Return the store of the channel's repository in matrix.yaml, or None without a channel or repository."""
    found = load(matrix).find_channel(channel)
    return f"github:{found.repository}" if found and found.repository else None


def open_stores(specs: Sequence[str]) -> ReadableStore:
    """Open one or more existing stores, to be read as one. Raises `UsageError` for an invalid or missing store."""
    stores = [open_store(spec, must_exist=True) for spec in dict.fromkeys(specs)]
    return stores[0] if len(stores) == 1 else MultiStore(stores)
