"""`fatwheel release`: bring assets into a release, each by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fatwheel.console.options import json_option, optional_matrix_option
from fatwheel.console.release_output import judge_release, show_release, shown_progress
from fatwheel.console.summaries import SUMMARIES

if TYPE_CHECKING:
    from fatwheel.declaration.model import Size
    from fatwheel.records.plan import Plan
    from fatwheel.records.release import ReleaseJournal
    from fatwheel.stores.artifacts import WorkflowRun

_PATH = click.Path(path_type=Path)


@click.command(help=SUMMARIES["release"])
@click.option("--store", metavar="STORE", help="dir:PATH or github:OWNER/REPO.")
@click.option("--tag", metavar="TAG", help="The release's tag.")
@click.option("--plan", "plan_file", type=_PATH, help="A plan's JSON: what it names and was not given is missing.")
@click.option("--from", "run", metavar="run:ID", help="A workflow run, whose artifacts hold the wheels.")
@optional_matrix_option
@click.option("--commit", metavar="SHA", help="The commit that the tag is made of; on Actions the run's own.")
@click.option("--draft", is_flag=True, help="Leave it a draft.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; send nothing.")
@click.option("--no-metadata", is_flag=True, help="Send no X.whl.metadata beside the wheels.")
@click.option("--replace", metavar="NAME", multiple=True, help="An asset whose bytes may be replaced; repeatable.")
@click.option("--record", type=_PATH, help="Where the run is recorded  [default: .fatwheel/release-TAG.json]")
@click.option("--resume", type=_PATH, help="The record of a run that was ended; what it was asked for holds.")
@json_option
@click.argument("files", metavar="[FILE]...", nargs=-1, type=_PATH)
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
    """Compose the request, run it, print its record, and raise if anything wanted is not live."""
    from fatwheel.errors import UsageError
    from fatwheel.records.release import ReleaseJournal
    from fatwheel.release.journal import Journal, default_place
    from fatwheel.release.make_release import release
    from fatwheel.release.request import ReleaseRequest
    from fatwheel.stores import open_store

    before = ReleaseJournal.read(resume) if resume else None
    if before is None and not (store and tag):
        raise UsageError("a release needs --store and --tag", help="or --resume with the record of an earlier run")
    asked = ReleaseJournal(
        store=store or (before.store if before else ""),
        tag=tag or (before.tag if before else ""),
        files=[str(file.absolute()) for file in files] or (before.files if before else []),
        plan=str(plan_file.absolute()) if plan_file else before.plan if before else None,
        matrix=str(matrix.absolute()) if matrix else before.matrix if before else None,
        commit=_full(commit) or (before.commit if before else _own_commit(store)),
        draft=draft or bool(before and before.draft),
        metadata=not no_metadata and (before is None or before.metadata),
        run=run or (before.run if before else None),
        replace=sorted({*replace, *(before.replace if before else [])}),
        release_id=before.release_id if before else None,
        hashed=before.hashed if before else [],
    )
    sizes = _sizes(asked)
    request = ReleaseRequest(
        tag=asked.tag,
        files=tuple(Path(file) for file in asked.files),
        plan=_plan(asked),
        commit=asked.commit,
        size_limit=sizes.limit if sizes else None,
        over=sizes.over if sizes else "withhold",
        elsewhere=open_store(sizes.elsewhere) if sizes and sizes.over == "elsewhere" and sizes.elsewhere else None,
        draft=asked.draft,
        dry_run=dry_run,
        metadata=asked.metadata,
        replace=frozenset(asked.replace),
        hashed=tuple(asked.hashed),
        run=_run(asked),
        release_id=asked.release_id,
    )
    place = record or resume or default_place(asked.tag)
    journal = None if dry_run else Journal(place, asked)
    if journal and (record or resume):
        journal.begin()
        if journal.problem:
            raise UsageError(journal.problem, where="--record", help="name another place; nothing was sent")
    with shown_progress(journal) as progress:
        done = release(open_store(asked.store), request, progress=progress)
    if journal:
        journal.finish()
        if journal.problem:
            done = done.model_copy(update={"notes": [*done.notes, journal.problem]})
    show_release(done, as_json)
    judge_release(done, dry_run=dry_run)


def _plan(asked: ReleaseJournal) -> Plan | None:
    from fatwheel.records.plan import Plan

    return Plan.read(Path(asked.plan)) if asked.plan else None


def _full(commit: str | None) -> str | None:
    import re

    from fatwheel.errors import UsageError

    if commit and not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", commit):
        raise UsageError(f"{commit!r} is no full commit id", where="--commit", help="git rev-parse tells it")
    return commit


def _own_commit(store: str | None) -> str | None:
    """GITHUB_SHA, where the release goes to the repository that the run is of: others have no such commit."""
    import os

    kind, _, place = (store or "").partition(":")
    if kind == "github" and place.lower() != os.environ.get("GITHUB_REPOSITORY", "").lower():
        return None
    return os.environ.get("GITHUB_SHA") or None


def _run(asked: ReleaseJournal) -> WorkflowRun | None:
    if asked.run is None:
        return None
    import os

    from fatwheel.pipelines.runs import opened_run

    kind, _, place = asked.store.partition(":")
    return opened_run(asked.run, asked.commit, os.environ, place if kind == "github" else None)


def _sizes(asked: ReleaseJournal) -> Size | None:
    if asked.matrix is None:
        return None
    from fatwheel.declaration import load

    return load(Path(asked.matrix)).document.size
