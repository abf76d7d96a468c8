"""Reports for people at a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fatwheel.console.output import echo_table
from fatwheel.records.report import CellPrice, Report
from fatwheel.report.tables import Table, price_table, tables


def show_report(report: Report) -> None:
    """All tables that have something to say."""
    for table in tables(report):
        _show(table)


def show_prices(prices: Sequence[CellPrice]) -> None:
    """What a change of matrix.yaml costs."""
    table = price_table(prices)
    if table.rows:
        _show(table)


def _show(table: Table) -> None:
    click.echo(click.style(table.title, bold=True))
    echo_table(table.headings, table.rows, right=table.right, whole=(0, *table.right))
    if table.below:
        click.echo(f"{table.below}\n")
