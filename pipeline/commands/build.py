"""`fatwheel build`: cells become wheels, each with its record beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.commands._io import (
    echo_json,
    echo_table,
    engine_option,
    json_option,
    matrix_option,
    say,
    size,
    toolchain_option,
)

if TYPE_CHECKING:
    from pipeline.declaration import Declaration
    from pipeline.errors import PipelineError
    from pipeline.records.build import BuildRecord
    from pipeline.records.plan import Cell


@click.command(help="Build cells into wheels.")
@click.argument("cell")
@matrix_option
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), default=Path("dist"), show_default=True, help="Where wheels go."
)
@engine_option
@toolchain_option
@click.option("--modules", metavar="A,B", default="", help="Build only these modules: a slice, which is not released.")
@click.option(
    "--fake-size", metavar="BYTES", type=click.IntRange(min=1), help="Make placeholders of this size instead."
)
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    cell: str,
    matrix: Path,
    output: Path,
    engine: str,
    toolchain: str,
    modules: str,
    fake_size: int | None,
    as_json: bool,
) -> None:
    """CELL is an id or a glob. A cell that fails does not keep the others from being built; the end names all."""
    from pipeline.build.engine import engine_named
    from pipeline.build.station import build_cell
    from pipeline.build.toolchain import choice_named
    from pipeline.declaration import load
    from pipeline.errors import PipelineError

    engine_named(engine)
    choice_named(toolchain)
    declaration = load(matrix)
    wanted = _cells(declaration, cell)
    records: list[BuildRecord] = []
    failed: list[tuple[Cell, PipelineError]] = []
    for one in wanted:
        try:
            record = build_cell(
                declaration,
                one,
                output,
                engine=engine,
                toolchain=toolchain,
                modules=[name for name in modules.split(",") if name] or None,
                fake_size=fake_size,
                notify=say,
            )
        except PipelineError as error:
            failed.append((one, error))
            if len(wanted) > 1:
                say(f"{one.id} failed: {error}")
        else:
            records.append(record)
    if as_json and _is_glob(cell):
        echo_json(records)
    elif as_json and records:
        echo_json(records[0])
    elif records:
        _show(records, output)
    _judge(failed, len(wanted))  # last: what was built is shown in any case


def _cells(declaration: Declaration, text: str) -> list[Cell]:
    """The cell of an id, or those that a glob matches in any channel. Raises `UsageError` if there is none."""
    import fnmatch

    from pipeline.plan import cell, channels, make_plan, unknown_cell

    if not _is_glob(text):
        return [cell(declaration, text)]
    known = {one.id: one for name in reversed(channels(declaration)) for one in make_plan(declaration, name).cells}
    found = [one for one in known.values() if fnmatch.fnmatchcase(one.id, text)]
    if not found:
        raise unknown_cell(text, list(known))
    return found


def _is_glob(text: str) -> bool:
    return not set("*?[").isdisjoint(text)


def _show(records: Sequence[BuildRecord], output: Path) -> None:
    for record in records:
        for row in record.left_out[:_SHOWN]:
            click.echo(f"{record.cell.id}: {row.name} is left out: {row.reason}")
        if len(record.left_out) > _SHOWN:
            click.echo(f"{record.cell.id}: {len(record.left_out) - _SHOWN} more are left out; the record names them")
    echo_table(
        ["cell", "modules", "left out", "size", "seconds"],
        [
            (
                record.cell.id,
                str(len(record.modules)) if record.modules else "-",
                str(len(record.left_out)) if record.left_out else "-",
                size(record.bytes),
                "-" if record.seconds is None else f"{record.seconds:.0f}",
            )
            for record in records
        ],
        right=(1, 2, 3, 4),
    )
    for record in records:
        click.echo(output / record.wheel)


_SHOWN = 5  # left-out modules that are named for each wheel


def _judge(failed: Sequence[tuple[Cell, PipelineError]], count: int) -> None:
    from pipeline.errors import BuildError

    if not failed:
        return
    if count == 1:
        raise failed[0][1]
    lines = "".join(f"\n  {cell.id}: {error.what.splitlines()[0]}" for cell, error in failed)
    raise BuildError(
        f"{len(failed)} of {count} cells failed:{lines}", remedy="build them again one by one, by their ids"
    )
