"""SHA-256 digests: one type for all of them, and how to take one of what does not fit into memory."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

_PREFIX = "sha256:"
_SHORT = 12  # hexadecimal digits, as `git` and `docker` abbreviate


class Digest(str):
    """A SHA-256 digest: 64 lowercase hexadecimal digits, which is also its form in records.

    APIs and container registries write it with a prefix (`prefixed`). RECORD files of wheels have a form of their own
    (`fatwheel.wheels.formats.record`).
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        """Accept the bare digits or ``sha256:<digits>``. Raises `ValueError` for anything else."""
        digits = text.removeprefix(_PREFIX)
        if not re.fullmatch(r"[0-9a-f]{64}", digits):
            raise ValueError(f"'{text}' is not a SHA-256 digest of 64 hexadecimal digits")
        return super().__new__(cls, digits)

    @classmethod
    def of(cls, data: bytes) -> Self:
        """The digest of bytes in memory."""
        return cls(hashlib.sha256(data).hexdigest())

    @classmethod
    def from_api(cls, text: object) -> Self | None:
        """What an API gives as the digest of a file; None where it gives none, or one of another algorithm."""
        try:
            return cls(text) if isinstance(text, str) else None
        except ValueError:
            return None

    @property
    def prefixed(self) -> str:
        """``sha256:<64 digits>``."""
        return f"{_PREFIX}{self}"

    @property
    def short(self) -> str:
        """The first 12 digits, for messages."""
        return self[:_SHORT]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        from pydantic_core import core_schema  # only where a record is read or written

        return core_schema.no_info_after_validator_function(cls, core_schema.str_schema())


def file_digest(path: Path) -> Digest:
    """The digest of a file. Raises `OSError`."""
    with path.open("rb") as file:
        return Digest(hashlib.file_digest(file, "sha256").hexdigest())


def stream_digest(chunks: Iterable[bytes | memoryview]) -> Digest:
    """The digest of all chunks, one after another."""
    return Digest(raw_digest(chunks).hex())


def raw_digest(chunks: Iterable[bytes | memoryview]) -> bytes:
    """The same as 32 bytes, as RECORD files of wheels encode it."""
    state = hashlib.sha256()
    for chunk in chunks:
        state.update(chunk)
    return state.digest()
