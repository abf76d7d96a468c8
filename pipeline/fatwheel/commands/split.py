"""`fatwheel split`: split fat wheels by GPU family or target, without recompiling."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import PATH, json_option, matrix_option, named_command, only_option
from fatwheel.console.output import echo_json, echo_progress, echo_table, raise_all
from fatwheel.declaration import load
from fatwheel.errors import PipelineError
from fatwheel.formatting import count_of
from fatwheel.pipelines.split import split_wheel
from fatwheel.records.split import SplitPart, SplitRecord
from fatwheel.sizes import size
from fatwheel.targets import dotted


@named_command("split")
@click.argument("wheel", nargs=-1, required=True, type=PATH)
@matrix_option
@click.option("--output", "-o", type=PATH, default=Path("dist"), show_default=True, help="Output folder.")
@click.option(
    "--by", type=click.Choice(["family", "target"]), default=None,
    help="Split by GPU family or by target.  [default: the package's layout]",
)  # fmt: skip
@only_option
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    wheel: tuple[Path, ...], matrix: Path, output: Path, by: str | None, only: str | None, as_json: bool
) -> None:
    """Exits with code 2 for a wheel of no package in matrix.yaml, and 5 for one that cannot be split safely.

    --json prints an array.
    """
    declaration = load(matrix)
    done: list[SplitRecord] = []
    failed: list[PipelineError] = []
    for one in wheel:
        try:
            record, same_files = split_wheel(declaration, one, output, by=by, only=only)
        except PipelineError as error:
            failed.append(error)
            continue
        done.append(record)
        if same_files:
            echo_progress(
                "note: these wheels install the same files, so only one fits on a machine; a shim needs --plain extras"
            )
        if not as_json:
            _print(record, output)
    if as_json and done:
        echo_json(done)
    raise_all(failed)


def _print(record: SplitRecord, output: Path) -> None:
    echo_table(
        ["cell", "targets", "size", "share", "reduced", "without code"],
        [
            (
                part.cell,
                dotted(part.targets),
                size(part.bytes),
                f"{part.bytes / record.bytes:.0%}",
                str(len(part.filtered)),
                _without_code(part),
            )
            for part in record.parts
        ],
        right=(2, 3, 4),
        whole=(0,),
    )
    for part in record.parts:
        for what, names in (("removed", part.dropped), ("kept without device code", part.emptied)):
            if names:
                click.echo(f"{part.cell}: {what}: {', '.join(names)}")
    click.echo(f"{record.wheel}, {size(record.bytes)}: {count_of(len(record.parts), 'wheel')} in {output}")


def _without_code(part: SplitPart) -> str:
    if part.dropped:
        return f"{len(part.dropped)} removed"
    return f"{len(part.emptied)} kept" if part.emptied else "-"
