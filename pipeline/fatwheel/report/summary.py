"""Render a report and size estimates as Markdown, for the step summary of GitHub Actions."""

from __future__ import annotations

from fatwheel import markdown
from fatwheel.records.plan import PlanDiff
from fatwheel.records.report import Report
from fatwheel.report.tables import Table, estimates_table, tables


def report_markdown(report: Report) -> str:
    """Render the errors, then all tables."""
    lines = ["## Wheel sizes", ""]
    lines += [f"- **{markdown.escape(error)}**" for error in report.errors]
    if report.errors:
        lines.append("")
    for table in tables(report):
        lines += _render(table)
    return "\n".join(lines) + "\n"


def estimates_markdown(diff: PlanDiff) -> str:
    """Render the estimated size changes since a revision."""
    table = estimates_table(diff.estimates)
    if not table.rows:
        return f"## Wheel sizes\n\nNo wheel changed its targets since {diff.revision}.\n"
    return "\n".join(["## Wheel sizes", "", *_render(table)]) + "\n"


def _render(table: Table) -> list[str]:
    lines = [f"### {table.title}", "", *markdown.table(table.headings, table.rows, right=table.right), ""]
    return [*lines, table.below, ""] if table.below else lines
