"""What `yank` and `unyank` share: where the index is, and how a change of it is made and told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fatwheel.console.output import echo_json, say

if TYPE_CHECKING:
    from fatwheel.records.index import YankReport

_OPTIONS = (
    click.argument("what", nargs=-1, required=True),
    click.option("--index", "-i", "folder", type=click.Path(path_type=Path), help="The folder that holds the index."),
    click.option("--to", "repository", metavar="OWNER/REPO", help="The index is on a branch of this repository."),
    click.option("--branch", default="gh-pages", show_default=True, help="The branch."),
    click.option("--path", "inside", default=".", show_default=True, help="The folder in it."),
)


def where_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The files that are meant, and the options that say where the index is."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def change(
    edit: Callable[[Path], YankReport],
    folder: Path | None,
    repository: str | None,
    branch: str,
    inside: str,
    *,
    as_json: bool,
) -> None:
    """Edit the index where it is, and tell what came of it. Raises `UsageError`, `ReleaseRefused`."""
    from fatwheel.errors import UsageError

    if (folder is None) == (repository is None):
        raise UsageError("where the index is is not said", help="give --index DIR, or --to OWNER/REPO")
    reports: list[YankReport] = []
    if folder is not None:
        reports.append(edit(folder))
    else:
        from fatwheel.stores.github.tokens import token_for
        from fatwheel.workflows.branch import Branch, push, remote_of

        name = str(repository)
        place = Branch(remote_of(name, os.environ), branch, inside, token_for(name, os.environ))
        push(place, lambda here: reports.append(edit(here)), "Index: yanked files", environ=os.environ)
    report = reports[-1]
    if as_json:
        echo_json(report)
        return
    for file in report.files:
        click.echo(f"{'yanked' if report.yanked else 'not yanked any more'}: {file}")
    if not report.files:
        say("nothing changed: all of it was so already")
