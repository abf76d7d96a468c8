"""Open a workflow run whose artifacts are released, and check that it built the released commit."""

from __future__ import annotations

from collections.abc import Mapping

from fatwheel.errors import ReleaseRefused
from fatwheel.stores.artifacts import WorkflowRun, open_run
from fatwheel.stores.store_errors import StoreFailure


def open_checked_run(
    spec: str, commit: str | None, environment: Mapping[str, str], repository: str | None = None
) -> WorkflowRun:
    """Open ``run:ID``; ``commit`` is by default that of this workflow run.

    Raises `ReleaseRefused` if another run than this one built another commit, or it cannot be read.
    """
    run = open_run(spec, environment, repository)
    commit = commit or environment.get("GITHUB_SHA")
    if run.run == environment.get("GITHUB_RUN_ID") or commit is None:
        return run
    try:
        built = run.commit()
    except StoreFailure as failure:
        raise ReleaseRefused(failure.what, where=run.spec, help=failure.help) from failure
    if built != commit:
        raise ReleaseRefused(
            f"this run built commit {built[:12]}, but the release is of {commit[:12]}", where=run.spec,
            help="pass a run of this commit, or build it again; nothing was uploaded",
        )  # fmt: skip
    return run
