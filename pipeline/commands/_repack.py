"""Composing a repack: what becomes of the build record that lies beside a wheel."""

from __future__ import annotations

from pathlib import Path

from pipeline.build.product import described, without
from pipeline.records.build import BuildRecord
from pipeline.records.files import BUILD, beside
from pipeline.records.repack import RepackRecord

_CODE = {".so", ".cubin", ".fatbin"}  # endings of what a build reports as modules


def with_record(wheel: Path, made: Path, done: RepackRecord) -> None:
    """Write the record of the repacked wheel, if the wheel had one and is still its cell's.

    Under another version it is no cell's, and has none.
    """
    before = beside(wheel, BUILD)
    if before.exists() and made.name == wheel.name:
        libraries = [name for name in done.excluded if _CODE & set(Path(name).suffixes)]
        built = without(BuildRecord.read(before), libraries, "left out when it was repacked")
        described(made, built).write(beside(made, BUILD))
