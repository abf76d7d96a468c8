"""Stores: where releases are read from and written to."""

from __future__ import annotations

import os
from pathlib import Path

from fatwheel.errors import UsageError
from fatwheel.stores.remote import RemoteAsset, RemoteRelease, Store

__all__ = ["RemoteAsset", "RemoteRelease", "Store", "open_store"]


def open_store(spec: str, *, must_exist: bool = False) -> Store:
    """Open ``dir:PATH`` or ``github:OWNER/REPO`` without reading or writing anything.

    A GitHub store takes GITHUB_TOKEN and GITHUB_API_URL from the environment. Raises `UsageError` for an invalid store,
    and with ``must_exist`` for a missing folder.
    """
    kind, _, place = spec.partition(":")
    if kind == "dir" and place:
        from fatwheel.stores.directory import DirectoryStore

        if must_exist and not Path(place).is_dir():
            raise UsageError("no such folder", where=spec, help="release to it first, or use another folder")
        return DirectoryStore(Path(place))
    if kind == "github" and place:
        from fatwheel.stores.github import open_github

        return open_github(place, os.environ)
    raise UsageError(f"invalid store {spec!r}", where="--store", help="use dir:PATH or github:OWNER/REPO")
