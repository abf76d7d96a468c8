"""Write files so that readers see either the old or the new contents."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` at the end, or is deleted if the block raises."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name[:200]}."
        )  # file names have at most 255 bytes
    except OSError as error:
        error.filename = str(path)  # not the temporary name
        raise
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # e.g. a full disk
            error.filename = str(path)
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file atomically: readers see either the old or the new contents."""
    with atomic_file(path) as file:
        file.write(data)
