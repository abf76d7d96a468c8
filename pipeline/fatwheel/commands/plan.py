"""`fatwheel plan`: what a channel builds, what it leaves out, and why."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fatwheel.console.github_actions import append_outputs, append_step_summary
from fatwheel.console.options import channel_option, date_option, json_option, matrix_option
from fatwheel.console.output import echo_json, echo_progress
from fatwheel.console.summaries import SUMMARIES

if TYPE_CHECKING:
    from fatwheel.declaration import Declaration
    from fatwheel.records.plan import Plan


@click.command(help=SUMMARIES["plan"])
@matrix_option
@channel_option
@click.option("--only", metavar="GLOB", default=None, help="Only cells whose id matches.")
@date_option
@click.option("--diff", "revision", metavar="REV", help="Show which cells and targets came and went since a revision.")
@click.option("--store", metavar="STORE", help="With --diff: price the change by this store's releases.")
@click.option(
    "--records", metavar="DIR", type=click.Path(path_type=Path), help="With --diff: price it by wheels or records."
)
@click.option(
    "--resume", "record", metavar="RECORD", type=click.Path(path_type=Path), help="Only what this release lacks."
)
@click.option("--tag", metavar="TAG", help="End with 2 unless this is the tag of the version.")
@click.option("--commit", metavar="SHA", help="With --tag: the commit that must hold it.")
@click.option(
    "--actions", metavar="FILE", type=click.Path(path_type=Path),
    help="On GitHub Actions: write the whole plan to FILE, and job matrices of what is selected to the outputs.",
)  # fmt: skip
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    matrix: Path,
    channel: str,
    only: str | None,
    date: str | None,
    revision: str | None,
    store: str | None,
    records: Path | None,
    record: Path | None,
    tag: str | None,
    commit: str | None,
    actions: Path | None,
    as_json: bool,
) -> None:
    """The table for people, or the plan's JSON; with --diff the difference, either way."""
    from fatwheel.declaration import load
    from fatwheel.errors import UsageError
    from fatwheel.plan import make_plan
    from fatwheel.plan.versions import parse_date

    if revision and (only or record):
        raise UsageError("--diff compares whole plans", help="leave out --only and --resume")
    if commit and not tag:
        raise UsageError("--commit goes with --tag", help="add --tag TAG")
    if (store or records) and not revision:
        raise UsageError("--store and --records price a difference", help="add --diff REV")
    declaration = load(matrix)
    day = parse_date(date or None)
    plan = make_plan(declaration, channel, only or None, day)
    if tag:
        from fatwheel.plan.tags import check_tag

        check_tag(declaration, plan, tag, commit or ("HEAD" if actions else None))
    if record:
        from fatwheel.plan.resume import keep_missing

        plan = keep_missing(declaration, plan, record)
    if actions:
        whole = make_plan(declaration, channel, date=day)
        _write_actions(declaration, whole, plan, day, actions)
    if revision:
        from fatwheel.plan.diff import compare
        from fatwheel.plan.revision import load_at

        difference = compare(load_at(revision, matrix), plan, revision, day)
        if store or records:
            from fatwheel.pipelines.report import estimate_diff
            from fatwheel.report.summary import estimates_markdown

            difference = estimate_diff(difference, store, records, declaration, echo_progress)
            append_step_summary(estimates_markdown(difference))
        if as_json:
            echo_json(difference)
        else:
            from fatwheel.console.plan_tables import show_difference

            show_difference(difference)
    elif as_json:
        echo_json(plan)
    else:
        from fatwheel.console.plan_tables import show_plan

        show_plan(plan)


def _write_actions(declaration: Declaration, whole: Plan, selected: Plan, day: dt.date, path: Path) -> None:
    """Write the whole plan to a file, and pass the job matrices of the selected cells to GitHub Actions."""
    from fatwheel.pipelines.actions import prepare_actions
    from fatwheel.records.base import write_atomically

    prepared = prepare_actions(declaration, whole, selected, day)
    write_atomically(path, whole.to_json().encode())
    for line in prepared.annotations:
        echo_progress(line)
    append_outputs(prepared.outputs)
    append_step_summary(prepared.summary)
