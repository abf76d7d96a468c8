"""`fatwheel release`: upload wheels to a release; one failure never stops the rest."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import PATH, is_given, json_option, named_command, optional_matrix_option, tag_option
from fatwheel.console.release_output import raise_for_missing, show_progress, show_release
from fatwheel.errors import UsageError
from fatwheel.pipelines.release import ReleaseOptions, compose_journal, compose_request
from fatwheel.records.release import ReleaseJournal
from fatwheel.release.journal import Journal, default_path
from fatwheel.release.make_release import release
from fatwheel.stores import open_store


@named_command("release")
@click.option("--store", metavar="STORE", help="Release store: dir:PATH or github:OWNER/REPO.")
@tag_option(required=False)
@click.option(
    "--plan", "plan_file", type=PATH, help="Plan (JSON); planned wheels that are not given are reported as missing."
)
@click.option("--from", "run", metavar="run:ID", help="Workflow run whose artifacts contain the wheels.")
@optional_matrix_option
@click.option("--commit", metavar="SHA", help="Commit of the tag.  [default: on GitHub Actions, the run's commit]")
@click.option("--draft", is_flag=True, help="Keep the release as a draft.")
@click.option("--dry-run", is_flag=True, help="Show what would be uploaded, without uploading.")
@click.option("--no-metadata", is_flag=True, help="Do not upload X.whl.metadata beside each wheel.")
@click.option("--replace", metavar="NAME", multiple=True, help="Allow this asset to be overwritten; repeatable.")
@click.option("--record", type=PATH, help="Path of the release journal.  [default: .fatwheel/release-TAG.json]")
@click.option("--resume", type=PATH, help="Resume an interrupted release from its journal, with its original options.")
@json_option
@click.argument("files", metavar="[FILE]...", nargs=-1, type=PATH)
def command(  # noqa: PLR0917  (click passes them by name)
    store: str | None,
    tag: str | None,
    plan_file: Path | None,
    run: str | None,
    matrix: Path | None,
    commit: str | None,
    draft: bool,
    dry_run: bool,
    no_metadata: bool,
    replace: tuple[str, ...],
    record: Path | None,
    resume: Path | None,
    as_json: bool,
    files: tuple[Path, ...],
) -> None:
    """The size limits of matrix.yaml apply to all files; --no-matrix leaves only those of the store.

    Exits with code 6 if an expected asset was not uploaded, and with 7 if nothing was uploaded.
    """
    earlier = ReleaseJournal.read(resume) if resume else None
    if earlier and not is_given("matrix"):
        matrix = None  # the journal's own
    options = ReleaseOptions(
        store, tag, plan_file, run, matrix, commit, draft=draft, metadata=not no_metadata, replace=replace, files=files
    )
    asked = compose_journal(options, earlier)
    request = compose_request(asked, dry_run=dry_run)
    journal = None if dry_run else Journal(record or resume or default_path(asked.tag), asked)
    if journal and (record or resume):
        journal.begin()
        if journal.problem:
            raise UsageError(journal.problem, where="--record", help="choose another path; nothing was uploaded")
    with show_progress(journal) as progress:
        done = release(open_store(asked.store), request, progress=progress)
    if journal:
        journal.finish()
        if journal.problem:
            done = done.model_copy(update={"notes": [*done.notes, journal.problem]})
    show_release(done, as_json)
    raise_for_missing(done, dry_run=dry_run)
