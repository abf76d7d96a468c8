"""Repack a wheel together with the records beside it."""

from __future__ import annotations

from pathlib import Path

from fatwheel.building.postprocess import device_code_files, record_without
from fatwheel.building.product import forget_smoke
from fatwheel.digests import file_digest
from fatwheel.errors import UsageError
from fatwheel.records.build import BuildRecord
from fatwheel.records.files import BUILD, beside
from fatwheel.records.repack import RepackRecord


def build_record(wheel: Path) -> BuildRecord | None:
    """The build record beside a wheel, if any. Raises `UsageError` if it is invalid, or of a different file."""
    record = beside(wheel, BUILD)
    if not (record.exists() and wheel.is_file()):
        return None
    found = BuildRecord.read(record)
    if found.sha256 != file_digest(wheel):
        raise UsageError(
            "the wheel differs from its build record",
            where=str(wheel),
            help=f"build or download it again, or delete {record.name}",
        )
    return found


def update_records(built: BuildRecord | None, made: Path, done: RepackRecord) -> None:
    """Write the build record of a repacked wheel, and delete the smoke record of a different file.

    A wheel with another version belongs to no cell, so it gets no build record.
    """
    forget_smoke(made, done.sha256)
    if built and made.name == done.from_wheel:
        kept = record_without(built, device_code_files(done.excluded), "excluded by repack")
        own = {"wheel": done.wheel, "bytes": done.bytes, "sha256": done.sha256}
        kept.model_copy(update=own).write(beside(made, BUILD))
