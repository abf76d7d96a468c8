"""`fatwheel doctor`: check what this machine can build, test and release."""

from __future__ import annotations

import os
from pathlib import Path

import click

from fatwheel.console.options import engine_option, json_option, named_command, optional_matrix_option, toolchain_option
from fatwheel.console.output import echo_json, echo_table, echo_wrapped
from fatwheel.declaration import load
from fatwheel.pipelines.doctor import diagnose
from fatwheel.records.doctor import Diagnosis

_MARKS = {"ok": "yes", "missing": "no", "note": "-"}


@named_command("doctor")
@optional_matrix_option
@engine_option
@toolchain_option
@json_option
def command(matrix: Path | None, engine: str, toolchain: str, as_json: bool) -> None:
    """Exits with code 0 whatever it finds. Include its output in bug reports; secrets are redacted."""
    found = diagnose(load(matrix) if matrix else None, os.environ, engine=engine, toolchain=toolchain)
    if as_json:
        echo_json(found)
    else:
        _print(found)


def _print(diagnosis: Diagnosis) -> None:
    click.echo(f"fatwheel {diagnosis.fatwheel}, Python {diagnosis.python}, {diagnosis.system}")
    echo_table(
        ["", "for", "what", "found"],
        [(_MARKS[one.state], one.area, one.name, one.detail.replace("\n", " ")) for one in diagnosis.findings],
    )
    helped = [one for one in diagnosis.findings if one.help]
    if helped:
        click.echo("To fix:")
        for one in helped:
            echo_wrapped(f"{one.name}: {one.help}", "  ")
        click.echo("")
    if diagnosis.cells:
        by_reason: dict[str | None, list[str]] = {}
        for cell in diagnosis.cells:
            by_reason.setdefault(cell.reason, []).append(cell.id)
        buildable = by_reason.pop(None, [])
        click.echo(f"buildable here: {len(buildable)} of {len(diagnosis.cells)} cells")
        for name in buildable:
            click.echo(f"  {name}")
        for reason, names in by_reason.items():
            echo_wrapped(f"cannot build here: {', '.join(names)}")
            echo_wrapped(str(reason), "  ")
