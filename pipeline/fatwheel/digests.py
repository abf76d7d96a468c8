"""sha256 of what does not fit into memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def file_digest(path: Path) -> str:
    """sha256 of a file, as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stream_digest(chunks: Iterable[bytes | memoryview]) -> str:
    """sha256 of a stream, as 64 hexadecimal digits."""
    return digest_of(chunks).hex()


def digest_of(pieces: Iterable[bytes | memoryview]) -> bytes:
    """sha256 of all pieces, as 32 bytes."""
    state = hashlib.sha256()
    for piece in pieces:
        state.update(piece)
    return state.digest()
