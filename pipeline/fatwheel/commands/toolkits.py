"""`fatwheel toolkits`: the table of what each CUDA release compiles, and whether an installed ptxas agrees with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fatwheel.console.options import json_option
from fatwheel.console.output import echo_json, echo_progress, echo_table
from fatwheel.console.summaries import SUMMARIES

if TYPE_CHECKING:
    from fatwheel.targets import Toolkit


@click.command(help=SUMMARIES["toolkits"])
@click.option("--ptxas", type=click.Path(path_type=Path), help="A ptxas; ends with 3 where the table differs from it.")
@click.option("--write", is_flag=True, help="With --ptxas: put its row into the table.")
@json_option
def command(ptxas: Path | None, write: bool, as_json: bool) -> None:
    """The table; with --ptxas the row of that ptxas, compared or written."""
    from fatwheel.errors import UsageError
    from fatwheel.targets import toolkits

    if ptxas is None:
        if write:
            raise UsageError("--write goes with --ptxas", help="give the ptxas whose row is written")
        _show(list(toolkits().values()), as_json)
        return
    row = _ask(ptxas)
    _show([row], as_json)
    if write:
        _write(row)
    else:
        _compare(row, toolkits().get(row.release))


def _ask(ptxas: Path) -> Toolkit:
    """The row that a ptxas gives of itself."""
    import subprocess

    from fatwheel.errors import UsageError
    from fatwheel.targets.table import read_ptxas

    texts: list[str] = []
    for option in ("--help", "--version"):
        try:
            done = subprocess.run([str(ptxas), option], capture_output=True, text=True, check=True, timeout=60)
        except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
            help = "give the path of an installed ptxas, as /usr/local/cuda/bin/ptxas"
            raise UsageError(f"{ptxas} does not run as a ptxas: {error}", help=help) from None
        texts.append(done.stdout)
    return read_ptxas(*texts)


def _show(rows: list[Toolkit], as_json: bool) -> None:
    if as_json:
        echo_json({row.release: {"ptxas": row.ptxas, "targets": row.undotted.split()} for row in rows})
    else:
        echo_table(["CUDA", "ptxas", "targets"], [(row.release, row.ptxas, row.undotted) for row in rows])


def _compare(row: Toolkit, held: Toolkit | None) -> None:
    from fatwheel.errors import DriftError

    help = "run the same with --write, in a checkout of fatwheel"
    if held is None:
        raise DriftError(f"the table has no row for CUDA {row.release}", help=help)
    came = " ".join(t.undotted for t in sorted(row.targets - held.targets))
    went = " ".join(t.undotted for t in sorted(held.targets - row.targets))
    if came or went:
        parts = [f"it compiles {came}" if came else "", f"it does not compile {went}" if went else ""]
        what = f"the table is not right about ptxas {row.ptxas}: {', and '.join(filter(None, parts))}"
        raise DriftError(what, help=help)


def _write(row: Toolkit) -> None:
    from fatwheel.records.base import write_atomically
    from fatwheel.targets.table import DATA, table_with

    held = DATA.read_text(encoding="utf-8")
    text = table_with(row, held)
    if text != held:
        write_atomically(DATA, text.encode())
    echo_progress(f"{DATA}: {'written' if text != held else 'as it was'}")
