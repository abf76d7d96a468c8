"""`fatwheel plan`: show what a channel builds, what it excludes, and why."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import click

from fatwheel.console.github_actions import append_outputs, append_step_summary
from fatwheel.console.options import (
    PATH,
    channel_option,
    date_option,
    json_option,
    matrix_option,
    named_command,
    only_option,
)
from fatwheel.console.output import echo_json, echo_progress
from fatwheel.declaration import Declaration, load
from fatwheel.errors import UsageError
from fatwheel.plan import make_plan
from fatwheel.plan.versions import parse_date
from fatwheel.records.plan import Plan, PlanDiff

# The imports inside functions keep `plan --json` fast: it needs none of these modules.


@named_command("plan")
@matrix_option
@channel_option
@only_option
@date_option
@click.option("--diff", "revision", metavar="REV", help="Show cells and targets added or removed since a Git revision.")
@click.option("--store", metavar="STORE", help="With --diff: estimate the size change from this store's releases.")
@click.option("--records", metavar="DIR", type=PATH, help="With --diff: estimate it from wheels or build records.")
@click.option("--resume", "record", metavar="JOURNAL", type=PATH, help="Select cells missing from this release.")
@click.option("--tag", metavar="TAG", help="Exit with code 2 unless TAG matches the version.")
@click.option("--commit", metavar="SHA", help="With --tag: the commit TAG must point to.")
@click.option(
    "--actions", metavar="FILE", type=PATH,
    help="Write the whole plan to FILE and job matrices of the selected cells to the outputs of GitHub Actions.",
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
    """--json prints the plan, or with --diff the difference."""
    if revision and (only or record):
        raise UsageError("--diff compares whole plans", help="remove --only and --resume")
    if commit and not tag:
        raise UsageError("--commit requires --tag", help="add --tag TAG")
    if (store or records) and not revision:
        raise UsageError("--store and --records require --diff", help="add --diff REV")
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
        _write_actions(declaration, make_plan(declaration, channel, date=day), plan, day, actions)
    if revision:
        difference = _compare(declaration, plan, revision, day, store=store, records=records)
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


def _compare(
    declaration: Declaration, plan: Plan, revision: str, day: dt.date, *, store: str | None, records: Path | None
) -> PlanDiff:
    """Compare the plan with that of a Git revision; estimate sizes if there is something to estimate them from."""
    from fatwheel.plan.diff import compare
    from fatwheel.plan.revision import load_at

    difference = compare(load_at(revision, declaration.path), plan, revision, day)
    if store or records:
        from fatwheel.pipelines.report import estimate_diff
        from fatwheel.report.summary import estimates_markdown

        difference = estimate_diff(difference, store, records, declaration, echo_progress)
        append_step_summary(estimates_markdown(difference))
    return difference


def _write_actions(declaration: Declaration, whole: Plan, selected: Plan, day: dt.date, path: Path) -> None:
    """Write the whole plan to a file, and pass the job matrices of the selected cells to GitHub Actions."""
    from fatwheel.atomic import write_atomically
    from fatwheel.pipelines.actions import prepare_actions

    prepared = prepare_actions(declaration, whole, selected, day)
    write_atomically(path, whole.to_json().encode())
    for line in prepared.annotations:
        click.echo(line, err=True)  # a workflow command, also with --quiet
    append_outputs(prepared.outputs)
    append_step_summary(prepared.summary)
