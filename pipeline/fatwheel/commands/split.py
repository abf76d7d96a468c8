"""`fatwheel split`: a fat wheel becomes the wheels of its cells, and nothing is compiled again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fatwheel.console.options import json_option, matrix_option
from fatwheel.console.output import echo_json, echo_progress, echo_table
from fatwheel.console.summaries import SUMMARIES
from fatwheel.records.files import BUILD, beside
from fatwheel.sizes import size
from fatwheel.targets import dotted

if TYPE_CHECKING:
    from fatwheel.records.split import SplitPart, SplitRecord


@click.command(help=SUMMARIES["split"])
@click.argument("wheel", type=click.Path(path_type=Path))
@matrix_option
@click.option("--output", "-o", type=click.Path(path_type=Path), default=Path("dist"), show_default=True)
@click.option("--by", type=click.Choice(["family", "target"]), default=None, help="[default: the package's layout]")
@click.option("--only", metavar="GLOB", default=None, help="Write only the cells whose id matches.")
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    wheel: Path, matrix: Path, output: Path, by: str | None, only: str | None, as_json: bool
) -> None:
    """Ends with 2 for a wheel that the declaration does not know, 5 for one that cannot be split safely."""
    from fatwheel.declaration import load
    from fatwheel.pipelines.repack import build_record
    from fatwheel.pipelines.split import find_cells, make_spec, part_record
    from fatwheel.processes import terminable
    from fatwheel.records.split import SplitRecord
    from fatwheel.wheels.making.split import split

    declaration = load(matrix)
    package, cells = find_cells(declaration, wheel, by)
    built = build_record(wheel)
    by_id = {cell.id: cell for cell in cells}
    parts = [make_spec(cell, package, wheel, built) for cell in cells]
    done: list[SplitPart] = []
    with terminable():
        for part in split(wheel, parts, output, empty=package.empty_modules, only=only):
            done.append(part)
            if built:
                made = output / part.wheel
                part_record(made, part, built, by_id[part.cell]).write(beside(made, BUILD))
    if len({part.embedded.distribution for part in parts}) > 1 and any(one.thinned for one in done):
        echo_progress(
            "note: these wheels install the same files, so only one fits on a machine; a shim needs --plain extras"
        )
    record = SplitRecord(wheel=wheel.name, bytes=wheel.stat().st_size, parts=done)
    if as_json:
        echo_json(record)
    else:
        _show(record, output)


def _show(record: SplitRecord, output: Path) -> None:
    echo_table(
        ["cell", "targets", "size", "of the fat", "thinned", "without code"],
        [
            (
                part.cell,
                dotted(part.targets),
                size(part.bytes),
                f"{part.bytes / record.bytes:.0%}",
                str(len(part.thinned)),
                _without_code(part),
            )
            for part in record.parts
        ],
        right=(2, 3, 4),
        whole=(0,),
    )
    for part in record.parts:
        for what, names in (("not in it", part.dropped), ("kept without device code", part.emptied)):
            if names:
                click.echo(f"{part.cell}: {what}: {', '.join(names)}")
    count = len(record.parts)
    click.echo(f"{record.wheel}, {size(record.bytes)}: {count} wheel{'s' if count != 1 else ''} in {output}")


def _without_code(part: SplitPart) -> str:
    if part.dropped:
        return f"{len(part.dropped)} dropped"
    return f"{len(part.emptied)} kept" if part.emptied else "-"
