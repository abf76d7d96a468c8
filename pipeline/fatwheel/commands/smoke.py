"""`fatwheel smoke`: import a wheel in a bare environment, and run it on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fatwheel.console.options import json_option, optional_matrix_option
from fatwheel.console.output import echo_json, raise_all
from fatwheel.console.summaries import SUMMARIES
from fatwheel.targets import dotted

if TYPE_CHECKING:
    from fatwheel.declaration import Declaration
    from fatwheel.errors import SmokeError
    from fatwheel.records.smoke import Check, SmokeRecord


@click.command(help=SUMMARIES["smoke"])
@click.argument("wheel", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--gpu", is_flag=True, help="Run it on this machine's GPU too; without one that is an error.")
@click.option("--python", metavar="PYTHON", default=None, help="Try it with this interpreter.")
@optional_matrix_option
@json_option
def command(wheel: tuple[Path, ...], gpu: bool, python: str | None, matrix: Path | None, as_json: bool) -> None:
    """Ends with 0, 2 (an argument) or 5: a test failed, or --gpu was given and nothing ran on a GPU.

    Each wheel has an environment of its own. Of several wheels, --json prints a list.
    """
    from fatwheel.declaration import load
    from fatwheel.errors import PipelineError

    declaration = load(matrix) if matrix is not None else None
    found: list[SmokeRecord] = []
    failed: list[PipelineError] = []
    for one in wheel:
        try:
            found.append(_smoked(one, declaration, gpu=gpu, python=python))
        except PipelineError as error:
            failed.append(error)
            continue
        if not as_json:
            _show(found[-1])
        if problem := _problem(found[-1], gpu=gpu):
            failed.append(problem)
    if as_json and (found or len(wheel) > 1):
        echo_json(found[0] if len(wheel) == 1 else found)
    raise_all(failed)


def _smoked(wheel: Path, declaration: Declaration | None, *, gpu: bool, python: str | None) -> SmokeRecord:
    """The test of one wheel, as its cell's package where the build record or the name tells it."""
    from fatwheel.records.build import BuildRecord
    from fatwheel.records.files import BUILD, beside
    from fatwheel.smoke import smoke_wheel
    from fatwheel.wheels.formats.wheel_name import WheelName

    built = beside(wheel, BUILD)
    cell = BuildRecord.read(built).cell if built.is_file() else None
    package = None
    if declaration is not None:
        package = declaration.package(cell.package if cell else WheelName.parse(wheel.name).distribution)
    return smoke_wheel(wheel, gpu=gpu, package=package, cell=cell, python=python)


def _checks(record: SmokeRecord) -> dict[str, Check]:
    return {"import": record.import_} | ({"gpu": record.gpu} if record.gpu else {})


def _show(record: SmokeRecord) -> None:
    click.echo(record.wheel)
    for name, check in _checks(record).items():
        click.echo(f"  {name}: {check.outcome}{': ' if check.detail else ''}{check.detail}")
    if record.device:
        click.echo(f"  on {record.device.name}, {record.device.capability}, driver {record.device.driver or 'unknown'}")
    if record.not_executed:
        click.echo(f"  not run on a GPU: {dotted(record.not_executed)}")


def _problem(record: SmokeRecord, *, gpu: bool) -> SmokeError | None:
    """What is to be raised for a record, if anything."""
    from fatwheel.errors import SmokeError

    if not record.passed:
        failed = [f"{name}: {check.detail}" for name, check in _checks(record).items() if check.outcome == "failed"]
        return SmokeError("\n".join(failed), where=record.wheel)
    if gpu and record.gpu and record.gpu.outcome == "skipped":
        elsewhere = "run it on a machine with such a GPU, or without --gpu"
        help = "declare the package's smoke command, and give --matrix" if record.device else elsewhere
        return SmokeError(record.gpu.detail, where=record.wheel, help=help)
    return None
