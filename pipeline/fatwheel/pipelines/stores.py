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
    if matrix:
        declared = {str(name): one for name, one in load(matrix).channels.items()}.get(channel)
        if declared is not None and declared.repository:
            return f"github:{declared.repository}"
    raise UsageError(
        "no store given", help=f"give --store STORE, or set `repository` for channel {channel} in matrix.yaml"
    )


def open_stores(specs: Sequence[str]) -> ReadableStore:
    """Open one or more existing stores, to be read as one. Raises `UsageError` for an invalid or missing store."""
    stores = [open_store(spec, must_exist=True) for spec in dict.fromkeys(specs)]
    return stores[0] if len(stores) == 1 else MultiStore(stores)
