"""The base class of records, and atomic writing of files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from fatwheel.errors import UsageError

Parsed = TypeVar("Parsed")


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


class Record(BaseModel):
    """A frozen model with a stable JSON form. Reading ignores unknown fields of later versions."""

    # Built on first use, because a command uses few of the records that it imports.
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, defer_build=True)

    def to_json(self) -> str:
        """Return indented JSON with a final newline; equal records give equal bytes."""
        return self.model_dump_json(indent=2, by_alias=True) + "\n"

    def write(self, path: Path) -> None:
        """Write the record to ``path`` atomically."""
        write_atomically(path, self.to_json().encode())

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a record from ``path``. Raises `UsageError` for a missing or invalid file."""
        return read_with(cls.model_validate_json, cls.__name__, path)


def read_with(parse: Callable[[bytes], Parsed], kind: str, path: Path) -> Parsed:
    """Parse a JSON file with pydantic. Raises `UsageError` for a missing or invalid file."""
    try:
        return parse(path.read_bytes())
    except FileNotFoundError:
        raise UsageError("file not found", where=str(path)) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise UsageError(f"invalid {kind}: {place}: {first['msg']}", where=str(path)) from None
