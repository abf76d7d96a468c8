"""The base of all records: frozen, written whole or not at all, read with errors that name the file."""

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
    """A file to write under a temporary name beside ``path``; renamed at the end, and gone if the block raises."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:200]}.")  # a name has 255 bytes
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
        if isinstance(error, OSError) and error.filename is None:  # a full disk does not say whose it is
            error.filename = str(path)
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file whole: readers see the old bytes or the new, never half."""
    with atomic_file(path) as file:
        file.write(data)


class Record(BaseModel):
    """A frozen model with a stable JSON form. Fields of later versions are passed over when read."""

    # Built when first used: a command reads and writes few of the records that its imports bring.
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, defer_build=True)

    def to_json(self) -> str:
        """Indented JSON with a newline at the end; equal records give equal bytes."""
        return self.model_dump_json(indent=2, by_alias=True) + "\n"

    def write(self, path: Path) -> None:
        """Write to ``path`` atomically."""
        write_atomically(path, self.to_json().encode())

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read from ``path``. Raises `UsageError` if it is missing or is not such a record."""
        return read_with(cls.model_validate_json, cls.__name__, path)


def read_with(parse: Callable[[bytes], Parsed], kind: str, path: Path) -> Parsed:
    """What pydantic makes of a file's JSON. Raises `UsageError` if it is missing or is not such a record."""
    try:
        return parse(path.read_bytes())
    except FileNotFoundError:
        raise UsageError("no such record", where=str(path)) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise UsageError(f"not a {kind}: {place}: {first['msg']}", where=str(path)) from None
