"""`fatwheel variants`: create wheel variants, for the preview of uv."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import PATH, json_option, named_command
from fatwheel.console.output import echo_json
from fatwheel.wheels.making.variants import make_variants


@named_command("variants")
@click.argument("wheels", nargs=-1, required=True, type=PATH)
@click.option("--output", "-o", required=True, type=PATH, help="Output folder.")
@json_option
def command(wheels: tuple[Path, ...], output: Path, as_json: bool) -> None:
    """Experimental. Wheels must have been built by fatwheel. Release the variants, and the index lists them.

    uv installs them with its preview feature wheel-variants.
    """
    made = make_variants(wheels, output)
    if as_json:
        echo_json({"files": [str(path) for path in made]})
        return
    for path in made:
        click.echo(str(path))
