"""Smoke-test wheels as packages of matrix.yaml."""

from __future__ import annotations

from pathlib import Path

from fatwheel.declaration import Declaration
from fatwheel.errors import SmokeError, UsageError
from fatwheel.records.build import BuildRecord
from fatwheel.records.files import BUILD, beside
from fatwheel.records.smoke import Check, SmokeRecord
from fatwheel.smoke import smoke_wheel
from fatwheel.wheels.formats.wheel_name import WheelName


def smoke_declared(
    wheel: Path, declaration: Declaration | None, *, must_declare: bool, gpu: bool, python: str | None
) -> SmokeRecord:
    """Smoke-test a wheel as the package that its build record or its name gives.

    Raises `UsageError` if ``must_declare`` and matrix.yaml has no such package; else it is tested without one.
    """
    built = beside(wheel, BUILD)
    cell = BuildRecord.read(built).cell if built.is_file() else None
    package = None
    if declaration is not None:
        try:
            package = declaration.package(cell.package if cell else WheelName.parse(wheel.name).distribution)
        except UsageError:
            if must_declare:
                raise
    return smoke_wheel(wheel, gpu=gpu, package=package, cell=cell, python=python)


def checks_of(record: SmokeRecord) -> dict[str, Check]:
    """Return the checks of a smoke test by name."""
    return {"import": record.import_} | ({"gpu": record.gpu} if record.gpu else {})


def smoke_error(record: SmokeRecord, *, gpu: bool) -> SmokeError | None:
    """Return the error for a failed test, or for a GPU test (``gpu``) that did not run."""
    if not record.passed:
        failed = [f"{name}: {check.detail}" for name, check in checks_of(record).items() if check.outcome == "failed"]
        return SmokeError("\n".join(failed), where=record.wheel)
    if gpu and record.gpu and record.gpu.outcome == "skipped":
        elsewhere = "run it on a machine with such a GPU, or without --gpu"
        help = "add a smoke command to the package in matrix.yaml" if record.device else elsewhere
        return SmokeError(record.gpu.detail, where=record.wheel, help=help)
    return None
