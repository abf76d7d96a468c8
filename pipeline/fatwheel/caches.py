"""The folder that holds fatwheel's caches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fatwheel.errors import UsageError

SET_CACHE = "set FATWHEEL_CACHE to a folder that you can write to"
"""The help of an error about a folder in the cache."""


def cache_root(environ: Mapping[str, str]) -> Path:
    """Return ``$FATWHEEL_CACHE``, else ``fatwheel`` in the user's cache folder. Raises `UsageError` without a home."""
    own = environ.get("FATWHEEL_CACHE")
    if own:
        return Path(own).absolute()
    base = Path(environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():
        return base / "fatwheel"
    try:
        home = Path(environ.get("HOME") or Path.home())
    except RuntimeError as error:
        help = "set FATWHEEL_CACHE to a folder"
        raise UsageError("this user has no home folder for fatwheel's cache", help=help) from error
    return home / ".cache" / "fatwheel"
