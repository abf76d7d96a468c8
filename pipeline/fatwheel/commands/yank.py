"""`fatwheel yank`: take files of an index out of the running, and say why."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.output import json_option
from fatwheel.pipelines.yank import change, where_options


@click.command(help="Mark files of an index as yanked: nobody gets them who does not name them.")
@where_options
@click.option("--reason", required=True, help="Shown to whoever installs them all the same.")
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    what: tuple[str, ...],
    folder: Path | None,
    repository: str | None,
    branch: str,
    inside: str,
    reason: str,
    as_json: bool,
) -> None:
    """WHAT is a file name, a glob, or PROJECT==VERSION. The next `fatwheel index` keeps it."""
    from fatwheel.index import yank

    change(lambda place: yank(place, what, reason), folder, repository, branch, inside, as_json=as_json)
