"""`fatwheel variants`: wheel variants of ordinary wheels, for uv's preview."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import json_option
from fatwheel.console.output import echo_json
from fatwheel.console.summaries import SUMMARIES

_PATH = click.Path(path_type=Path)


@click.command(help=SUMMARIES["variants"])
@click.argument("wheels", nargs=-1, required=True, type=_PATH)
@click.option("--output", "-o", required=True, type=_PATH, help="The folder to write them to.")
@json_option
def command(wheels: tuple[Path, ...], output: Path, as_json: bool) -> None:
    """Experimental. Release what it writes, and the index lists it; uv reads it with its preview wheel-variants."""
    from fatwheel.wheels.making.variants import make_variants

    made = make_variants(wheels, output)
    if as_json:
        echo_json({"files": [str(path) for path in made]})
        return
    for path in made:
        click.echo(str(path))
