"""What a wheel's own stamp says, for those who can do without one."""

from __future__ import annotations

from pydantic import ValidationError

from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import STAMP
from fatwheel.wheels.reading.archive import Archive


def stamp_of(archive: Archive) -> EmbeddedMetadata | None:
    """The wheel's ``fatwheel.json``; None where there is none, or none that can be read, which `verify` tells."""
    member = archive.by_name.get(f"{archive.dist_info}/{STAMP}")
    try:
        return EmbeddedMetadata.model_validate_json(archive.read(member)) if member else None
    except ValidationError:
        return None
