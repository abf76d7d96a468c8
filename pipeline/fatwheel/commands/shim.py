"""`fatwheel shim`: create a metadata-only wheel that pins its provider wheels."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from fatwheel.console.options import PATH, json_option, named_command
from fatwheel.console.output import echo_json
from fatwheel.sizes import size
from fatwheel.wheels.making.shim import write_shim


@named_command("shim")
@click.argument("wheel", nargs=-1, required=True, type=PATH)
@click.option("--name", required=True, metavar="DISTRIBUTION", help="Name that users install.")
@click.option("--output", "-o", type=PATH, default=Path("dist"), show_default=True, help="Output folder.")
@click.option(
    "--plain", type=click.Choice(["all", "extras"]), default="all", show_default=True,
    help="Providers installed without an extra: all, or none.",
)  # fmt: skip
@click.option("--summary", default="", help="Summary in the metadata.")
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    wheel: tuple[Path, ...], name: str, output: Path, plain: Literal["all", "extras"], summary: str, as_json: bool
) -> None:
    """WHEEL are the provider wheels, of one version, for any number of CPU architectures.

    The shims that matrix.yaml declares are cells: build them with `fatwheel build`.
    """
    path, extras = write_shim(wheel, output, name=name, plain=plain, summary=summary)
    if as_json:
        echo_json({"wheel": path.name, "bytes": path.stat().st_size, "plain": plain, "extras": extras})
        return
    click.echo(f"{path} ({size(path.stat().st_size)})")
    for extra, requirement in extras.items():
        click.echo(f"  {name}[{extra}]  {requirement}")
