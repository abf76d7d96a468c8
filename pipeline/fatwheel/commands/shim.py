"""`fatwheel shim`: a wheel of metadata alone for providers that are there already."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from fatwheel.console.options import json_option
from fatwheel.console.output import echo_json
from fatwheel.console.summaries import SUMMARIES
from fatwheel.sizes import size


@click.command(help=SUMMARIES["shim"])
@click.argument("wheel", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", required=True, metavar="DISTRIBUTION", help="What users install.")
@click.option("--output", "-o", type=click.Path(path_type=Path), default=Path("dist"), show_default=True)
@click.option(
    "--plain", type=click.Choice(["all", "extras"]), default="all", show_default=True,
    help="What an install without an extra brings: all providers, or none.",
)  # fmt: skip
@click.option("--summary", default="", help="The one line that describes it.")
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    wheel: tuple[Path, ...], name: str, output: Path, plain: Literal["all", "extras"], summary: str, as_json: bool
) -> None:
    """WHEEL are the providers' wheels, of one version, for any number of CPUs. A declaration's own shims are cells.

    Ends with 2 for wheels that one shim cannot require together.
    """
    from fatwheel.wheels.making.shim import write_shim

    path, wanted = write_shim(wheel, output, name=name, plain=plain, summary=summary)
    if as_json:
        echo_json({"wheel": path.name, "bytes": path.stat().st_size, "plain": plain, "extras": wanted})
        return
    click.echo(f"{path} ({size(path.stat().st_size)})")
    for extra, requirement in wanted.items():
        click.echo(f"  {name}[{extra}]  {requirement}")
