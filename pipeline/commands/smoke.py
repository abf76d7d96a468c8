"""`fatwheel smoke`: import a wheel in a bare environment, and run it on a GPU."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.commands._io import echo_json, json_option, optional_matrix_option


@click.command(help="Import a wheel in a bare environment, and run it on a GPU.")
@click.argument("wheel", type=click.Path(path_type=Path))
@click.option("--gpu", is_flag=True, help="Run it on this machine's GPU too; without one that is an error.")
@click.option("--python", metavar="PYTHON", default=None, help="Try it with this interpreter.")
@optional_matrix_option
@json_option
def command(wheel: Path, gpu: bool, python: str | None, matrix: Path | None, as_json: bool) -> None:
    """Ends with 0, 2 (an argument) or 5: a test failed, or --gpu was given and nothing ran on a GPU."""
    from pipeline.declaration import load
    from pipeline.errors import SmokeError
    from pipeline.records.build import BuildRecord
    from pipeline.smoke import smoke_wheel
    from pipeline.wheels.names import WheelName

    built = wheel.with_name(f"{wheel.name}.build.json")
    cell = BuildRecord.read(built).cell if built.is_file() else None
    package = None
    if matrix is not None:
        package = load(matrix).package(cell.package if cell else WheelName.parse(wheel.name).distribution)
    record = smoke_wheel(wheel, gpu=gpu, package=package, cell=cell, python=python)
    checks = {"import": record.import_} | ({"gpu": record.gpu} if record.gpu else {})
    if as_json:
        echo_json(record)
    else:
        click.echo(record.wheel)
        for name, check in checks.items():
            click.echo(f"  {name}: {check.outcome}{': ' if check.detail else ''}{check.detail}")
        if record.device:
            click.echo(
                f"  on {record.device.name}, {record.device.capability}, driver {record.device.driver or 'unknown'}"
            )
        if record.not_executed:
            click.echo(f"  not run on a GPU: {' '.join(record.not_executed)}")
    if not record.passed:
        failed = [f"{name}: {check.detail}" for name, check in checks.items() if check.outcome == "failed"]
        raise SmokeError("\n".join(failed), where=record.wheel)
    if gpu and record.gpu and record.gpu.outcome == "skipped":
        elsewhere = "run it on a machine with such a GPU, or without --gpu"
        remedy = "declare the package's smoke command, and give --matrix" if record.device else elsewhere
        raise SmokeError(record.gpu.detail, where=record.wheel, remedy=remedy)
