"""`fatwheel report`: sizes against the limit, prices of targets, growth, and code that nothing loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fatwheel.console.output import echo_json, json_option, optional_matrix_option, say

if TYPE_CHECKING:
    from fatwheel.records.report import Report

_PATH = click.Path(path_type=Path)


@click.command(help="Hold wheels against their size limit, and see the limit coming.")
@click.option(
    "--store", metavar="STORE", help="dir:PATH or github:OWNER/REPO; with --matrix, its channel's repository."
)
@click.option("--records", type=_PATH, metavar="DIR", help="Wheels that are not released yet, or their records.")
@optional_matrix_option
@click.option("--channel", "-c", metavar="NAME", help="With --matrix: only releases of this channel.")
@click.option("--dispatch", type=_PATH, metavar="FILE", help="An exported table of modules and capabilities (JSON).")
@click.option("--releases", type=click.IntRange(min=1), default=90, show_default=True, help="How many to look back.")
@click.option("--output", "-o", type=_PATH, metavar="DIR", help="Write a page with plots there, and report.json.")
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
    """Ends with 5 where a wheel is too large, grew too much, or has no code for a device that it is promised to."""
    from fatwheel.errors import VerificationError
    from fatwheel.pipelines.report import open_named_store, question
    from fatwheel.report.make_report import make_report

    if output:
        from fatwheel.report.plots import need_matplotlib

        need_matplotlib()
    asked = question(records=records, matrix=matrix, channel=channel, dispatch=dispatch, most=releases)
    report = make_report(open_named_store(store, matrix, channel, records), asked)
    _show(report, as_json)
    if output:
        from fatwheel.report.html_report import write_page

        say(f"wrote {write_page(report, output)}")
    if report.problems:
        count = len(report.problems)
        raise VerificationError(
            f"{count} problem{'s' if count != 1 else ''} with sizes and code:\n  " + "\n  ".join(report.problems),
            help="each is explained above; limits are `size` in matrix.yaml",
        )


def _show(report: Report, as_json: bool) -> None:
    from fatwheel.console.report_tables import show_report
    from fatwheel.pipelines.report import write_summary

    if as_json:
        echo_json(report)
    else:
        show_report(report)
    for note in report.notes:
        say(f"note: {note}")
    write_summary(report)
