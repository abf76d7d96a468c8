"""Where releases live and where wheels come from: what a store holds, and how it is read and written."""

from __future__ import annotations

import os
from pathlib import Path

from fatwheel.errors import UsageError
from fatwheel.stores.remote import RemoteAsset, RemoteRelease, Store

__all__ = ["RemoteAsset", "RemoteRelease", "Store", "open_store"]


def open_store(spec: str, *, there: bool = False) -> Store:
    """Open ``dir:PATH`` or ``github:OWNER/REPO``; nothing is read or written yet.

    A GitHub store takes GITHUB_TOKEN and GITHUB_API_URL from the environment. Raises `UsageError`, also for a folder
    that is not ``there`` where it must be.
    """
    kind, _, place = spec.partition(":")
    if kind == "dir" and place:
        from fatwheel.stores.directory import DirectoryStore

        if there and not Path(place).is_dir():
            raise UsageError("there is no such folder", where=spec, help="release into it first, or name another")
        return DirectoryStore(Path(place))
    if kind == "github" and place:
        from fatwheel.stores.github import open_github

        return open_github(place, os.environ)
    raise UsageError(f"{spec!r} is no store", where="--store", help="write dir:PATH or github:OWNER/REPO")
