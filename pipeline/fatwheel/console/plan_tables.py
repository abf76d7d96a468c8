"""Print plans and plan differences as tables."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fatwheel.console.output import echo_table, echo_wrapped
from fatwheel.formatting import count_of
from fatwheel.records.plan import Cell, CellChange, Plan, PlanDiff
from fatwheel.targets import Capability, Target, dotted


def show_plan(plan: Plan) -> None:
    """Print packages, cells, exclusions, untested families, and notes."""
    where = f" -> {plan.repository}" if plan.repository else ""
    for package in plan.packages:
        click.echo(f"{package.name} {package.version}, {package.layout}, {count_of(package.cells, 'cell')}")
    click.echo(f"{plan.channel}: tag {plan.tag}{where}, {plan.completeness}")
    if plan.cells:
        click.echo()
        echo_table(["cell", "targets", "covers", "GPU test"], [_cell_row(cell) for cell in plan.cells])
    else:
        click.echo("nothing is missing")
    if plan.excluded:
        echo_table(["excluded from", "what", "reason"], [(row.id, row.what, row.reason) for row in plan.excluded])
    if plan.not_proven:
        echo_table(
            ["untested", "CPU", "untested capabilities", "cells"],
            [(row.family, row.arch, dotted(row.covers) or "-", str(len(row.cells))) for row in plan.not_proven],
            right=[3],
        )
    for warning in plan.warnings:
        echo_wrapped(warning, label="warning: ")


def _cell_row(cell: Cell) -> tuple[str, str, str, str]:
    if cell.shim:
        count = len(cell.requires) or len(cell.extras)
        return cell.id, f"requires {count} providers" if cell.requires else f"{count} extras", "-", "shim"
    tested = "import" if not cell.targets else "gpu" if cell.smoke else "untested"
    return cell.id, dotted(cell.targets) or "-", dotted(cell.covers) or "-", tested


def show_difference(difference: PlanDiff) -> None:
    """Print the cells that were added (+), removed (-) and changed (~), one row per change."""
    before, now = difference.version
    version = now if before == now else f"{before or 'no such channel'} -> {now}"
    click.echo(f"{difference.channel} {version}, since {difference.revision}")
    rows: list[tuple[str, str, str, str]] = []
    rows += [("+", cell.id, f"cell: {dotted(cell.targets) or cell.wheel}", "") for cell in difference.added]
    rows += [("-", cell.id, "", f"cell: {dotted(cell.targets) or cell.wheel}") for cell in difference.removed]
    for change in difference.changed:
        rows += _change_rows(change)
    if rows:
        click.echo()
        echo_table(["", "cell", "added", "removed"], rows)
    excluded = [("now", row.id, row.what, row.reason) for row in difference.excluded]
    excluded += [("no longer", row.id, row.what, row.reason) for row in difference.included]
    if excluded:
        echo_table(["excluded", "from", "what", "reason"], excluded)
    click.echo(
        f"{len(difference.added)} added, {len(difference.removed)} removed, {len(difference.changed)} changed, "
        f"{difference.same} unchanged"
    )
    if difference.estimates:
        from fatwheel.console.report_tables import show_estimates

        show_estimates(difference.estimates)


def _change_rows(change: CellChange) -> list[tuple[str, str, str, str]]:
    rows: list[tuple[str, str]] = []
    if change.targets_added or change.targets_removed:
        rows.append((_format_list("target", change.targets_added), _format_list("target", change.targets_removed)))
    if change.covers_added or change.covers_removed:
        rows.append((_format_list("covers", change.covers_added), _format_list("covers", change.covers_removed)))
    rows += [(f"{name}: {now or 'none'}", f"{name}: {old or 'none'}") for name, (old, now) in change.fields.items()]
    return [("~" if place == 0 else "", change.id if place == 0 else "", *row) for place, row in enumerate(rows)]


def _format_list(what: str, values: Sequence[Target] | Sequence[Capability]) -> str:
    return f"{what} {dotted(values)}" if values else ""
