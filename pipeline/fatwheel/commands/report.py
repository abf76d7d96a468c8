"""`fatwheel report`: sizes against the limit, size per target, growth, and unused device code."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.github_actions import append_step_summary
from fatwheel.console.options import PATH, channel_choice, json_option, named_command, optional_matrix_option
from fatwheel.console.output import echo_json, echo_progress
from fatwheel.console.report_tables import show_report
from fatwheel.errors import VerificationError
from fatwheel.formatting import count_of
from fatwheel.pipelines.report import choose_store, report_options
from fatwheel.report.html_report import write_page
from fatwheel.report.make_report import make_report
from fatwheel.report.plots import require_matplotlib
from fatwheel.report.summary import report_markdown


@named_command("report")
@click.option(
    "--store",
    metavar="STORE",
    help="Release store: dir:PATH or github:OWNER/REPO.  [default: the channel's repository]",
)
@click.option("--records", type=PATH, metavar="DIR", help="Unreleased wheels, or their build records.")
@optional_matrix_option
@click.option("--channel", "-c", type=channel_choice, help="Read only the releases of this channel.")
@click.option("--dispatch", type=PATH, metavar="FILE", help="Dispatch table: modules and their capabilities (JSON).")
@click.option(
    "--releases", type=click.IntRange(min=1), default=90, show_default=True, help="Number of past releases to read."
)
@click.option("--output", "-o", type=PATH, metavar="DIR", help="Write an HTML report and report.json to this folder.")
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    store: str | None,
    records: Path | None,
    matrix: Path | None,
    channel: str | None,
    dispatch: Path | None,
    releases: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Exits with code 5 if a wheel is too large, grew too much, or has no code for a device that it covers."""
    if output:
        require_matplotlib()
    options = report_options(
        records=records, matrix=matrix, channel=channel, dispatch=dispatch, max_releases=releases, notify=echo_progress
    )
    report = make_report(choose_store(store, matrix, channel, records), options)
    if as_json:
        echo_json(report)
    else:
        show_report(report)
    for note in report.notes:
        echo_progress(f"note: {note}")
    append_step_summary(report_markdown(report))
    if output:
        echo_progress(f"wrote {write_page(report, output)}")
    if report.errors:
        raise VerificationError(
            f"the report found {count_of(len(report.errors), 'error')}:\n  " + "\n  ".join(report.errors),
            help="see the tables above; the limits are set by `size` in matrix.yaml",
        )
