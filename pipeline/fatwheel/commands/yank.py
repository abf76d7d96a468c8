"""`fatwheel yank`: mark files of a package index as yanked, or undo it."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import PATH, json_option, named_command
from fatwheel.console.output import echo_json, echo_progress
from fatwheel.errors import UsageError
from fatwheel.index import unyank, yank
from fatwheel.pipelines.yank import edit_index
from fatwheel.records.index import YankReport


@named_command("yank")
@click.argument("what", nargs=-1, required=True)
@click.option("--index", "-i", "folder", type=PATH, help="Folder of the index.")
@click.option("--to", "repository", metavar="OWNER/REPO", help="Repository whose branch holds the index.")
@click.option("--branch", default="gh-pages", show_default=True, help="Branch of the index, with --to.")
@click.option("--path", "inside", default=".", show_default=True, help="Folder in the branch, with --to.")
@click.option("--reason", help="Reason, shown when a yanked file is installed anyway.")
@click.option("--undo", is_flag=True, help="Undo a yank.")
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    what: tuple[str, ...],
    folder: Path | None,
    repository: str | None,
    branch: str,
    inside: str,
    reason: str | None,
    undo: bool,
    as_json: bool,
) -> None:
    """WHAT is a file name, a glob, or PROJECT==VERSION. Later runs of `fatwheel index` keep the yank."""
    if undo == bool(reason):
        raise UsageError("give either --reason or --undo", help="a yank requires a reason; --undo takes none")

    def edit(place: Path) -> YankReport:
        return unyank(place, what) if undo else yank(place, what, str(reason))

    report = edit_index(edit, folder, repository, branch, inside)
    if as_json:
        echo_json(report)
        return
    for file in report.files:
        click.echo(f"{'yanked' if report.yanked else 'unyanked'}: {file}")
    if not report.files:
        echo_progress("no changes")
