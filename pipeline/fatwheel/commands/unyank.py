"""`fatwheel unyank`: put yanked files of an index back in the running."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.output import json_option
from fatwheel.pipelines.yank import change, where_options


@click.command(help="Take yanking back.")
@where_options
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    what: tuple[str, ...], folder: Path | None, repository: str | None, branch: str, inside: str, as_json: bool
) -> None:
    """WHAT is as in yank."""
    from fatwheel.index import unyank

    change(lambda place: unyank(place, what), folder, repository, branch, inside, as_json=as_json)
