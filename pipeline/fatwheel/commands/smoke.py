"""`fatwheel smoke`: import wheels in a clean environment, and run them on a GPU."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import PATH, is_given, json_option, named_command, optional_matrix_option
from fatwheel.console.output import echo_json, raise_all
from fatwheel.declaration import load
from fatwheel.errors import PipelineError
from fatwheel.pipelines.smoke import checks_of, smoke_declared, smoke_error
from fatwheel.records.smoke import SmokeRecord
from fatwheel.targets import dotted


@named_command("smoke")
@click.argument("wheel", nargs=-1, required=True, type=PATH)
@click.option("--gpu", is_flag=True, help="Also run on this machine's GPU; fail if there is none.")
@click.option("--python", metavar="PYTHON", default=None, help="Python interpreter to test with.")
@optional_matrix_option
@json_option
def command(wheel: tuple[Path, ...], gpu: bool, python: str | None, matrix: Path | None, as_json: bool) -> None:
    """Each wheel gets its own environment; packages of matrix.yaml run their smoke command.

    Exits with code 5 if a test fails, or with --gpu if none runs on a GPU. --json prints an array.
    """
    declaration = load(matrix) if matrix else None
    must_declare = is_given("matrix")
    found: list[SmokeRecord] = []
    failed: list[PipelineError] = []
    for one in wheel:
        try:
            found.append(smoke_declared(one, declaration, must_declare=must_declare, gpu=gpu, python=python))
        except PipelineError as error:
            failed.append(error)
            continue
        if not as_json:
            _print(found[-1])
        if failure := smoke_error(found[-1], gpu=gpu):
            failed.append(failure)
    if as_json and found:
        echo_json(found)
    raise_all(failed)


def _print(record: SmokeRecord) -> None:
    click.echo(record.wheel)
    for name, check in checks_of(record).items():
        click.echo(f"  {name}: {check.outcome}{': ' if check.detail else ''}{check.detail}")
    if record.device:
        click.echo(f"  on {record.device.name}, {record.device.capability}, driver {record.device.driver or 'unknown'}")
    if record.not_executed:
        click.echo(f"  not run on a GPU: {dotted(record.not_executed)}")
