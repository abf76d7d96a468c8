"""`fatwheel deliver`: the index of some stores, brought to its host."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fatwheel.console.options import json_option, optional_matrix_option
from fatwheel.console.output import echo_json, echo_progress
from fatwheel.console.summaries import SUMMARIES

if TYPE_CHECKING:
    from fatwheel.records.index import IndexReport
    from fatwheel.stores.remote import ReadableStore


@click.command(help=SUMMARIES["deliver"])
@click.option("--store", "specs", required=True, multiple=True, metavar="STORE", help="As in index; repeatable.")
@click.option("--to", "repository", metavar="OWNER/REPO", help="Push it to a branch of this repository.")
@click.option("--branch", default="gh-pages", show_default=True, help="The branch.")
@click.option("--path", "folder", default=".", show_default=True, help="The folder in it.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Write it to this folder instead.")
@click.option("--base-url", metavar="URL", help="As in index.")
@click.option("--replace", multiple=True, metavar="NAME", help="As in index; repeatable.")
@click.option("--retire", "channel", metavar="CHANNEL", help="Leave out what the channel's retention will remove.")
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
    """Ends with 0, 2 (an argument), 5 (files that had to be left out; the rest is delivered) or 7 (nothing is)."""
    from fatwheel.errors import ReleaseRefused, UsageError, VerificationError
    from fatwheel.index import make_index
    from fatwheel.stores import open_store
    from fatwheel.stores.multi import MultiStore
    from fatwheel.stores.store_errors import StoreFailure

    if (repository is None) == (output is None):
        raise UsageError("where the index goes is not said", help="give --to OWNER/REPO, or --output DIR")
    if channel is not None and matrix is None:
        raise UsageError("--retire requires --matrix", help="pass the matrix.yaml that declares the channel")
    stores = [open_store(spec, there=True) for spec in dict.fromkeys(specs)]
    store: ReadableStore = stores[0] if len(stores) == 1 else MultiStore(stores)
    reports: list[IndexReport] = []
    try:
        if channel and matrix:
            store = store.without(_retired(store, matrix, channel))
        if output:
            reports.append(make_index(store, output, base_url, replace=replace))
            where = str(output)
        else:
            where = _pushed(
                str(repository), branch, folder, ", ".join(specs),
                lambda place: reports.append(make_index(store, place, base_url, replace=replace, among_files=True)),
            )  # fmt: skip
    except StoreFailure as failure:
        raise ReleaseRefused(failure.what, where=store.spec, help=failure.help) from failure
    report = reports[-1]
    for line in [*report.notes, *report.problems]:
        echo_progress(line)
    if as_json:
        echo_json(report)
    else:
        click.echo(f"{where}: {report.wheels} wheels on {report.pages} pages")
    if report.problems:
        raise VerificationError(
            f"{len(report.problems)} files left out of the index", where=store.spec,
            help="mend what is listed above, and run it again",
        )  # fmt: skip


def _retired(store: ReadableStore, matrix: Path, channel: str) -> frozenset[str]:
    """The ids of releases that `fatwheel prune` will remove."""
    from fatwheel.declaration import load
    from fatwheel.errors import UsageError
    from fatwheel.release.retention import RetentionPolicy, find_expired
    from fatwheel.stores.clock import Clock

    declared = {str(name): value for name, value in load(matrix).channels.items()}
    kept = declared[channel].retention if channel in declared else None
    if kept is None:
        raise UsageError(f"the channel '{channel}' has no retention", where=str(matrix), help="add retention to it")
    keep = RetentionPolicy(declared[channel].tag, kept.releases, kept.days, nightly=channel == "nightly")
    return frozenset(release.id for release in find_expired(store.releases(), keep, Clock().wall()).going)


def _pushed(repository: str, branch: str, folder: str, source: str, fill: Callable[[Path], None]) -> str:
    """Push, and say where to."""
    from fatwheel.stores.github.tokens import token_for
    from fatwheel.workflows.branch import Branch, push, remote_url

    place = Branch(remote_url(repository, os.environ), branch, folder, token_for(repository, os.environ))
    done = push(place, fill, f"Index of {source}", environ=os.environ)
    again = f", after {done.races} lost races" if done.races else ""
    return f"{repository} {branch} {done.commit[:12]}{'' if done.changed else ' (nothing changed)'}{again}"
