"""A report, and what a change costs, in Markdown: for a step's page on GitHub Actions."""

from __future__ import annotations

from collections.abc import Sequence

from fatwheel.records.plan import PlanDiff
from fatwheel.records.report import Report
from fatwheel.report.tables import Table, price_table, tables


def report_markdown(report: Report) -> str:
    """All tables, the problems first."""
    lines = ["## Sizes", ""]
    lines += [f"- **{problem}**" for problem in report.problems]
    if report.problems:
        lines.append("")
    for table in tables(report):
        lines += _table(table)
    return "\n".join(lines) + "\n"


def prices_markdown(diff: PlanDiff) -> str:
    """What the change since a revision costs."""
    table = price_table(diff.prices)
    if not table.rows:
        return f"## Sizes\n\nNo wheel changes its targets since {diff.revision}.\n"
    return "\n".join(["## Sizes", "", *_table(table)]) + "\n"


def _table(table: Table) -> list[str]:
    marks = ["---:" if at in table.right else "---" for at in range(len(table.headings))]
    lines = [f"### {table.title}", "", _row(table.headings), "|" + "|".join(marks) + "|", *map(_row, table.rows), ""]
    return [*lines, table.below, ""] if table.below else lines


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
