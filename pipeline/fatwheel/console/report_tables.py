"""Print reports and size estimates in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fatwheel.console.output import echo_table
from fatwheel.records.report import Report, SizeEstimate
from fatwheel.report.tables import Table, estimates_table, tables


def show_report(report: Report) -> None:
    """Print all tables of a report that have rows."""
    for table in tables(report):
        _show(table)


def show_estimates(estimates: Sequence[SizeEstimate]) -> None:
    """Print the estimated effect of a change of matrix.yaml on wheel sizes."""
    table = estimates_table(estimates)
    if table.rows:
        _show(table)


def _show(table: Table) -> None:
    click.echo(click.style(table.title, bold=True))
    echo_table(table.headings, table.rows, right=table.right, whole=(0, *table.right))
    if table.below:
        click.echo(f"{table.below}\n")
