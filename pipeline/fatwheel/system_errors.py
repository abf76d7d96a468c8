"""Errors of the operating system about files and folders, by what they mean."""

from __future__ import annotations

import errno
from pathlib import Path

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""The disk, or this user's part of it, is full."""
DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""The file or folder cannot be written."""


def working_folder_exists() -> bool:
    """Return whether the working folder can be found: it may have been deleted."""
    try:
        Path.cwd()
    except OSError:
        return False
    return True
