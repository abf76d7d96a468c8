"""`fatwheel deliver`: build the index of one or more stores and push it to its host."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import PATH, channel_choice, json_option, named_command, optional_matrix_option
from fatwheel.console.output import echo_json, echo_progress, echo_warning
from fatwheel.errors import UsageError, VerificationError
from fatwheel.formatting import count_of
from fatwheel.pipelines.deliver import IndexBranch, deliver
from fatwheel.pipelines.retention import declared_retention
from fatwheel.pipelines.stores import choose_store_spec


@named_command("deliver")
@click.option("--store", "specs", multiple=True, metavar="STORE", help="Store to index; repeatable.")
@click.option("--to", "repository", metavar="OWNER/REPO", help="Push the index to a branch of this repository.")
@click.option("--branch", default="gh-pages", show_default=True, help="Branch of the index, with --to.")
@click.option("--path", "folder", default=".", show_default=True, help="Folder in the branch, with --to.")
@click.option("--output", "-o", type=PATH, help="Write the index to this folder instead.")
@click.option("--base-url", metavar="URL", help="Base URL of the file links.  [default: the stores' own URLs]")
@click.option(
    "--replace", multiple=True, metavar="NAME", help="Accept changed contents for this file name or glob; repeatable."
)
@click.option(
    "--retire", "channel", type=channel_choice, help="Omit releases that this channel's retention will delete."
)
@optional_matrix_option
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    specs: tuple[str, ...],
    repository: str | None,
    branch: str,
    folder: str,
    output: Path | None,
    base_url: str | None,
    replace: tuple[str, ...],
    channel: str | None,
    matrix: Path | None,
    as_json: bool,
) -> None:
    """Exits with code 5 if files are missing from the index, and with 7 if nothing was delivered."""
    if repository is None and output is None:
        raise UsageError("no destination given", help="give --to OWNER/REPO or --output DIR")
    if repository and output:
        raise UsageError("two destinations given", help="give either --to or --output")
    if channel and matrix is None:
        raise UsageError("--retire requires a matrix.yaml", help="add --matrix FILE")
    done = deliver(
        specs or (choose_store_spec(None, matrix),),
        output or IndexBranch(str(repository), branch, folder),
        base_url=base_url, replace=replace,
        retire=declared_retention(matrix, channel) if matrix and channel else None,
    )  # fmt: skip
    report = done.report
    for note in report.notes:
        echo_progress(note)
    for problem in report.problems:
        echo_warning(problem)
    if as_json:
        echo_json(report)
    else:
        click.echo(f"{done.where}: {count_of(report.wheels, 'wheel')} on {count_of(report.pages, 'page')}")
    if report.problems:
        raise VerificationError(
            f"{count_of(len(report.problems), 'file')} omitted from the index", where=done.store,
            help="fix the files listed above and run it again",
        )  # fmt: skip
