"""Read a wheel's embedded metadata, ``*.dist-info/fatwheel.json``."""

from __future__ import annotations

from typing import Literal

from pydantic import ValidationError

from fatwheel.errors import VerificationError
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import EMBEDDED
from fatwheel.wheels.io.byte_sources import Malformed
from fatwheel.wheels.reading.archive import Archive

OnInvalid = Literal["raise", "ignore"]
"""What to do with a ``fatwheel.json`` that cannot be read or was not written by fatwheel: raise, or act as if the
wheel had none, where `verify` or a later step reports or replaces it."""


def read_embedded(archive: Archive, *, invalid: OnInvalid) -> EmbeddedMetadata | None:
    """The embedded metadata of a wheel; None if it has none, as a wheel that fatwheel did not build.

    Raises `VerificationError` for invalid metadata, unless ``invalid`` is "ignore".
    """
    member = archive.by_name.get(f"{archive.dist_info}/{EMBEDDED}")
    if member is None:
        return None
    try:
        data = archive.read(member)
    except Malformed:
        if invalid == "raise":
            raise
        return None
    return parse_embedded(data, archive.name, invalid=invalid)


def parse_embedded(data: bytes | str, wheel: str, *, invalid: OnInvalid) -> EmbeddedMetadata | None:
    """The same from the text of ``fatwheel.json``; ``wheel`` names the file in the error."""
    try:
        return EmbeddedMetadata.model_validate_json(data)
    except ValidationError as error:
        if invalid == "ignore":
            return None
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        what = f"invalid {EMBEDDED}: {f'{field}: ' if field else ''}{first['msg']}"
        raise VerificationError(what, where=wheel, help="build the wheel again") from None
