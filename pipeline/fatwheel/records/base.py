"""The base class of records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from fatwheel.atomic import write_atomically
from fatwheel.errors import UsageError

Parsed = TypeVar("Parsed")


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
