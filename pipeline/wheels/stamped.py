"""What a wheel's own stamp says, for those who can do without one."""

from __future__ import annotations

from pydantic import ValidationError

from pipeline.records.files import STAMP
from pipeline.records.stamp import WheelStamp
from pipeline.wheels.archive import Archive


def stamp_of(archive: Archive) -> WheelStamp | None:
    """The wheel's ``fatwheel.json``; None where there is none, or none that can be read, which `verify` tells."""
    member = archive.by_name.get(f"{archive.dist_info}/{STAMP}")
    try:
        return WheelStamp.model_validate_json(archive.read(member)) if member else None
    except ValidationError:
        return None
