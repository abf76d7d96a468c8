"""Composing a repack: what becomes of the records that lie beside a wheel."""

from __future__ import annotations

from pathlib import Path

from fatwheel.building.postprocess import libraries, without
from fatwheel.building.product import forget_smoke
from fatwheel.digests import file_digest
from fatwheel.errors import UsageError
from fatwheel.records.build import BuildRecord
from fatwheel.records.files import BUILD, beside
from fatwheel.records.repack import RepackRecord


def build_record(wheel: Path) -> BuildRecord | None:
    """The record beside a wheel, if there is one. Raises `UsageError` if it cannot be read, or is of other bytes."""
    record = beside(wheel, BUILD)
    if not (record.exists() and wheel.is_file()):
        return None
    found = BuildRecord.read(record)
    if found.sha256 != file_digest(wheel):
        raise UsageError(
            "it is not the wheel that its build record describes",
            where=str(wheel),
            help=f"build or fetch it again, or take {record.name} away",
        )
    return found


def settle(built: BuildRecord | None, made: Path, done: RepackRecord) -> None:
    """Write the record of the repacked wheel, if it had one and is still its cell's; forget a smoke test of others.

    Under another version it is no cell's.
    """
    forget_smoke(made, done.sha256)
    if built and made.name == done.from_wheel:
        left = without(built, libraries(done.excluded), "left out when it was repacked")
        own = {"wheel": done.wheel, "bytes": done.bytes, "sha256": done.sha256}
        left.model_copy(update=own).write(beside(made, BUILD))
