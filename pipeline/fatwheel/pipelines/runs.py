"""Workflow runs that wheels are taken from: opened, and held against the commit that is released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fatwheel.stores.artifacts import WorkflowRun


def opened_run(
    spec: str, commit: str | None, environment: Mapping[str, str], repository: str | None = None
) -> WorkflowRun:
    """Open ``run:ID``. Raises `ReleaseRefused` for an earlier run than this one that was of another commit."""
    from fatwheel.errors import ReleaseRefused
    from fatwheel.stores.artifacts import open_run
    from fatwheel.stores.store_errors import StoreFailure

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
            f"its wheels are of the commit {built[:12]}, and this release of {commit[:12]}", where=run.spec,
            help="give a run of this commit, or build it again; nothing was sent",
        )  # fmt: skip
    return run
