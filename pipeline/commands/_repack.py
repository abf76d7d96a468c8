"""Composing a repack: what becomes of the build record that lies beside a wheel."""

from __future__ import annotations

from pathlib import Path

from pipeline.build.finishing import libraries, without
from pipeline.build.product import described
from pipeline.records.build import BuildRecord
from pipeline.records.files import BUILD, beside
from pipeline.records.repack import RepackRecord


def with_record(wheel: Path, made: Path, done: RepackRecord) -> None:
    """Write the record of the repacked wheel, if the wheel had one and is still its cell's.

    Under another version it is no cell's, and has none.
    """
    before = beside(wheel, BUILD)
    if before.exists() and made.name == wheel.name:
        built = without(BuildRecord.read(before), libraries(done.excluded), "left out when it was repacked")
        described(made, built).write(beside(made, BUILD))
