"""`fatwheel toolkits`: list the GPU targets of each CUDA toolkit; compare with a ptxas."""

from __future__ import annotations

import subprocess
from pathlib import Path

import click

from fatwheel import targets
from fatwheel.atomic import write_atomically
from fatwheel.console.options import PATH, json_option, named_command
from fatwheel.console.output import echo_json, echo_progress, echo_table
from fatwheel.errors import DriftError, UsageError
from fatwheel.targets import Toolkit, table


@named_command("toolkits")
@click.option("--ptxas", type=PATH, help="ptxas to compare with; exit with code 3 if it differs.")
@click.option("--write", is_flag=True, help="With --ptxas: write its row to the table.")
@json_option
def command(ptxas: Path | None, write: bool, as_json: bool) -> None:
    """Prints the whole table, or with --ptxas the row of that ptxas."""
    if ptxas is None:
        if write:
            raise UsageError("--write requires --ptxas", help="add --ptxas PATH")
        _print(list(targets.toolkits().values()), as_json)
        return
    row = _run_ptxas(ptxas)
    _print([row], as_json)
    if write:
        _write(row)
    else:
        _compare(row, targets.toolkits().get(row.release))


def _run_ptxas(ptxas: Path) -> Toolkit:
    """Return the row that describes a ptxas, from its own output."""
    texts: list[str] = []
    for option in ("--help", "--version"):
        try:
            done = subprocess.run([str(ptxas), option], capture_output=True, text=True, check=True, timeout=60)
        except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
            help = "give the path of an installed ptxas, e.g. /usr/local/cuda/bin/ptxas"
            raise UsageError(f"cannot run {ptxas} as ptxas: {error}", help=help) from None
        texts.append(done.stdout)
    return table.read_ptxas(*texts)


def _print(rows: list[Toolkit], as_json: bool) -> None:
    if as_json:
        echo_json({row.release: {"ptxas": row.ptxas, "targets": row.undotted.split()} for row in rows})
    else:
        echo_table(["CUDA", "ptxas", "targets"], [(row.release, row.ptxas, row.undotted) for row in rows])


def _compare(row: Toolkit, known: Toolkit | None) -> None:
    help = "add --write, in a checkout of fatwheel"
    if known is None:
        raise DriftError(f"the toolkit table has no row for CUDA {row.release}", help=help)
    added = " ".join(t.undotted for t in sorted(row.targets - known.targets))
    removed = " ".join(t.undotted for t in sorted(known.targets - row.targets))
    if added or removed:
        parts = [f"it compiles {added}" if added else "", f"it does not compile {removed}" if removed else ""]
        what = f"the toolkit table disagrees with ptxas {row.ptxas}: {' and '.join(filter(None, parts))}"
        raise DriftError(what, help=help)


def _write(row: Toolkit) -> None:
    before = table.DATA.read_text(encoding="utf-8")
    after = table.table_with(row, before)
    if after != before:
        write_atomically(table.DATA, after.encode())
    echo_progress(f"{table.DATA}: {'written' if after != before else 'unchanged'}")
