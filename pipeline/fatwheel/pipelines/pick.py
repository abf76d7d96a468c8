"""Download the files of a workflow run that can go to PyPI, by the rules of a release."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from fatwheel.declaration import Declaration
from fatwheel.errors import UsageError
from fatwheel.pipelines.runs import open_checked_run
from fatwheel.records.plan import Plan
from fatwheel.records.release import ReleaseRecord
from fatwheel.release.make_release import release
from fatwheel.release.policy import GENERATED
from fatwheel.release.request import ProgressListener, ReleaseRequest
from fatwheel.stores.directory import DirectoryStore

_TAG = "upload"


def pick_files(
    declaration: Declaration, plan: Plan, run: str, *, commit: str | None, output: Path, progress: ProgressListener
) -> ReleaseRecord:
    """Release the planned files to a temporary folder, and move them to ``output`` if the release is published.

    Raises `UsageError` if ``output`` is not empty or nothing goes to PyPI, `ReleaseRefused` for a run that cannot be
    read or is of another commit.
    """
    if output.is_dir() and any(output.iterdir()):
        raise UsageError(f"{output} is not empty", help="choose another folder")
    selected = _select_for_pypi(declaration, plan)
    parent = output.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix=".fatwheel-pick-") as work:
        request = ReleaseRequest(
            tag=_TAG,
            files=(),
            plan=selected,
            commit=commit,
            metadata=False,
            run=open_checked_run(run, commit, os.environ),
        )
        done = release(DirectoryStore(Path(work)), request, progress=progress)
        output.mkdir(exist_ok=True)
        if done.published:
            for file in sorted((Path(work) / _TAG).iterdir()):
                if file.name.endswith((".whl", ".tar.gz")) and file.name not in GENERATED:
                    file.rename(output / file.name)
    return done


def _select_for_pypi(declaration: Declaration, plan: Plan) -> Plan:
    """Return the plan of what goes to PyPI. Raises `UsageError` if nothing does."""
    cells = [cell for cell in plan.cells if declaration.package(cell.package).publish == "pypi"]
    if not cells:
        raise UsageError("nothing in this plan goes to PyPI", help="add `publish: pypi` to a package")
    return plan.model_copy(update={"cells": cells})
