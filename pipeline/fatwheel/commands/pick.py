"""`fatwheel pick`: download the files of a workflow run that can go to PyPI."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import PATH, json_option, matrix_option, named_command
from fatwheel.console.release_output import raise_for_missing, show_progress, show_release
from fatwheel.declaration import load
from fatwheel.pipelines.pick import pick_files
from fatwheel.records.plan import Plan


@named_command("pick")
@matrix_option
@click.option("--plan", "plan_file", type=PATH, required=True, help="Plan (JSON).")
@click.option("--from", "run", metavar="run:ID", required=True, help="Workflow run.")
@click.option("--commit", metavar="SHA", help="Require the run to be at this commit.")
@click.option("--output", "-o", type=PATH, required=True, help="Output folder; must be empty.")
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    matrix: Path, plan_file: Path, run: str, commit: str | None, output: Path, as_json: bool
) -> None:
    """With `completeness: complete`, the folder stays empty unless every planned file passed.

    Exits with code 6 if a planned file did not pass, and with 7 if nothing was downloaded.
    """
    with show_progress(None) as progress:
        done = pick_files(load(matrix), Plan.read(plan_file), run, commit=commit, output=output, progress=progress)
    show_release(done, as_json)
    raise_for_missing(done)
