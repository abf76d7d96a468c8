"""`fatwheel pick`: what of a run may go to PyPI, by the rules of a release."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fatwheel.console.options import json_option, matrix_option
from fatwheel.console.summaries import SUMMARIES

if TYPE_CHECKING:
    from fatwheel.declaration import Declaration
    from fatwheel.records.plan import Plan


@click.command(help=SUMMARIES["pick"])
@matrix_option
@click.option("--plan", "plan_file", type=click.Path(path_type=Path), required=True, help="The plan's JSON.")
@click.option("--from", "run", metavar="run:ID", required=True, help="The workflow run.")
@click.option("--commit", metavar="SHA", help="The commit that the run must be of.")
@click.option("--output", "-o", type=click.Path(path_type=Path), required=True, help="An empty folder for the files.")
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    matrix: Path, plan_file: Path, run: str, commit: str | None, output: Path, as_json: bool
) -> None:
    """Ends with 0, 2 (an argument), 6 (a planned file is not fit; what passed is there) or 7 (nothing was taken).

    With completeness: complete, the folder stays empty unless all of them passed.
    """
    from fatwheel.console.release_output import judge_release, show_release, shown_progress
    from fatwheel.declaration import load
    from fatwheel.errors import UsageError
    from fatwheel.pipelines.runs import opened_run
    from fatwheel.records.plan import Plan
    from fatwheel.release.make_release import release
    from fatwheel.release.policy import GENERATED
    from fatwheel.release.request import ReleaseRequest
    from fatwheel.stores.directory import DirectoryStore

    if output.is_dir() and any(output.iterdir()):
        raise UsageError(f"{output} is not empty", help="give another folder")
    plan = _for_pypi(load(matrix), Plan.read(plan_file))
    tag = "upload"
    with tempfile.TemporaryDirectory(dir=_made(output.absolute().parent), prefix=".fatwheel-pick-") as work:
        request = ReleaseRequest(tag=tag, files=(), plan=plan, commit=commit, metadata=False,
                                 run=opened_run(run, commit, os.environ))  # fmt: skip
        with shown_progress(None) as progress:
            done = release(DirectoryStore(Path(work)), request, progress=progress)
        output.mkdir(exist_ok=True)
        if done.published:
            for file in sorted((Path(work) / tag).iterdir()):
                if file.name.endswith((".whl", ".tar.gz")) and file.name not in GENERATED:
                    file.rename(output / file.name)
    show_release(done, as_json)
    judge_release(done)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _for_pypi(declaration: Declaration, plan: Plan) -> Plan:
    """The plan of what goes to PyPI alone. Raises `UsageError` if nothing does."""
    from fatwheel.errors import UsageError

    cells = [cell for cell in plan.cells if declaration.package(cell.package).publish == "pypi"]
    if not cells:
        raise UsageError("nothing in this plan goes to PyPI", help="write publish: pypi at a package")
    return plan.model_copy(update={"cells": cells})
