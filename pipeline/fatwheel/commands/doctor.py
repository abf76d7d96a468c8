"""`fatwheel doctor`: what this machine can build, smoke and release, and what it lacks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fatwheel.console.options import engine_option, json_option, toolchain_option
from fatwheel.console.output import echo_json, echo_table, echo_wrapped
from fatwheel.console.summaries import SUMMARIES

if TYPE_CHECKING:
    from fatwheel.records.doctor import Diagnosis


@click.command(help=SUMMARIES["doctor"])
@click.option(
    "--matrix", "-m", type=click.Path(path_type=Path), default=None, envvar="FATWHEEL_MATRIX",
    help="The declaration whose cells are looked at; by default matrix.yaml, where there is one.",
)  # fmt: skip
@engine_option
@toolchain_option
@json_option
def command(matrix: Path | None, engine: str, toolchain: str, as_json: bool) -> None:
    """Ends with 0 whatever it finds, and with 2 for a declaration that cannot be used. Fit for a bug report."""
    from fatwheel.building.engine import EngineOptions
    from fatwheel.building.toolchain import choice_named
    from fatwheel.declaration import load
    from fatwheel.pipelines.doctor import diagnose, this_environ

    EngineOptions(engine)
    choice_named(toolchain)
    usual = Path("matrix.yaml")
    path = matrix or (usual if usual.is_file() else None)
    seen = diagnose(load(path) if path else None, this_environ(), engine=engine, toolchain=toolchain)
    if as_json:
        echo_json(seen)
    else:
        _show(seen)


def _show(seen: Diagnosis) -> None:
    click.echo(f"fatwheel {seen.fatwheel}, Python {seen.python}, {seen.system}")
    echo_table(
        ["", "for", "what", "found"],
        [(_MARKS[one.state], one.area, one.name, one.detail.replace("\n", " ")) for one in seen.findings],
    )
    lacking = [one for one in seen.findings if one.help]
    if lacking:
        click.echo("to do, where it is needed:")
        for one in lacking:
            echo_wrapped(f"{one.name}: {one.help}", "  ")
        click.echo("")
    if seen.cells:
        reasons: dict[str | None, list[str]] = {}
        for cell in seen.cells:
            reasons.setdefault(cell.reason, []).append(cell.id)
        able = reasons.pop(None, [])
        click.echo(f"cells that can be built here: {len(able)} of {len(seen.cells)}")
        for name in able:
            click.echo(f"  {name}")
        for reason, names in reasons.items():
            echo_wrapped(f"not here: {', '.join(names)}")
            echo_wrapped(str(reason), "  ")


_MARKS = {"ok": "yes", "missing": "no", "note": "-"}
