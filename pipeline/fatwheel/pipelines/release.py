"""Compose a release from the command line, matrix.yaml and the journal of an interrupted run."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fatwheel.declaration import load
from fatwheel.declaration.model import Size
from fatwheel.errors import UsageError
from fatwheel.pipelines.runs import open_checked_run
from fatwheel.records.plan import Plan
from fatwheel.records.release import ReleaseJournal
from fatwheel.release.request import ReleaseRequest
from fatwheel.stores import open_store
from fatwheel.stores.artifacts import WorkflowRun

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class ReleaseOptions:
    """The options of `fatwheel release`; None, False or empty where an option is not given."""

    store: str | None
    tag: str | None
    plan: Path | None
    run: str | None
    matrix: Path | None
    commit: str | None
    draft: bool
    metadata: bool
    replace: Sequence[str]
    files: Sequence[Path]


def compose_journal(options: ReleaseOptions, earlier: ReleaseJournal | None) -> ReleaseJournal:
    """Return what is to be released; options override those of an ``earlier`` journal.

    Raises `UsageError` if the store or tag is missing, or the commit is not a full SHA.
    """
    if earlier is None and not (options.store and options.tag):
        raise UsageError("a release needs --store and --tag", help="give both, or --resume JOURNAL")
    return ReleaseJournal(
        store=options.store or (earlier.store if earlier else ""),
        tag=options.tag or (earlier.tag if earlier else ""),
        files=[str(file.absolute()) for file in options.files] or (earlier.files if earlier else []),
        plan=str(options.plan.absolute()) if options.plan else earlier.plan if earlier else None,
        matrix=str(options.matrix.absolute()) if options.matrix else earlier.matrix if earlier else None,
        commit=_full_commit(options.commit) or (earlier.commit if earlier else _commit_of_run(options.store)),
        draft=options.draft or bool(earlier and earlier.draft),
        metadata=options.metadata and (earlier is None or earlier.metadata),
        run=options.run or (earlier.run if earlier else None),
        replace=sorted({*options.replace, *(earlier.replace if earlier else [])}),
        release_id=earlier.release_id if earlier else None,
        hashed=earlier.hashed if earlier else [],
    )


def compose_request(journal: ReleaseJournal, *, dry_run: bool) -> ReleaseRequest:
    """Return the request for a journal, with the size limits of its matrix.yaml. Raises what opening them raises."""
    size: Size | None = load(Path(journal.matrix)).document.size if journal.matrix else None
    fallback = size.elsewhere if size and size.over == "elsewhere" else None
    return ReleaseRequest(
        tag=journal.tag,
        files=tuple(Path(file) for file in journal.files),
        plan=Plan.read(Path(journal.plan)) if journal.plan else None,
        commit=journal.commit,
        size_limit=size.limit if size else None,
        over=size.over if size else "withhold",
        elsewhere=open_store(fallback) if fallback else None,
        draft=journal.draft,
        dry_run=dry_run,
        metadata=journal.metadata,
        replace=frozenset(journal.replace),
        hashed=tuple(journal.hashed),
        run=_open_run(journal),
        release_id=journal.release_id,
    )


def _full_commit(commit: str | None) -> str | None:
    if commit and not _COMMIT.fullmatch(commit):
        raise UsageError(f"'{commit}' is not a full commit SHA", where="--commit", help="run `git rev-parse HEAD`")
    return commit


def _commit_of_run(store: str | None) -> str | None:
    """Return GITHUB_SHA if the release goes to the repository of this workflow run, which has that commit."""
    kind, _, place = (store or "").partition(":")
    if kind == "github" and place.lower() != os.environ.get("GITHUB_REPOSITORY", "").lower():
        return None
    return os.environ.get("GITHUB_SHA") or None


def _open_run(journal: ReleaseJournal) -> WorkflowRun | None:
    if journal.run is None:
        return None
    kind, _, place = journal.store.partition(":")
    return open_checked_run(journal.run, journal.commit, os.environ, place if kind == "github" else None)
