"""Plans and their differences as tables for people."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fatwheel.console.output import echo_table, echo_wrapped
from fatwheel.records.plan import Cell, CellChange, Plan, PlanDiff
from fatwheel.targets import Capability, Target, dotted


def show_plan(plan: Plan) -> None:
    """Packages, cells, what is left out, what nobody proves, and notes."""
    where = f" -> {plan.repository}" if plan.repository else ""
    for package in plan.packages:
        click.echo(f"{package.name} {package.version}, {package.layout}, {_count(package.cells)}")
    click.echo(f"{plan.channel}: tag {plan.tag}{where}, {plan.completeness}")
    if plan.cells:
        click.echo()
        echo_table(["cell", "targets", "covers", "proof"], [_row(cell) for cell in plan.cells])
    else:
        click.echo("nothing is missing")
    if plan.excluded:
        echo_table(["left out of", "what", "reason"], [(row.id, row.what, row.reason) for row in plan.excluded])
    if plan.not_proven:
        echo_table(
            ["not proven on", "CPU", "covers, and no GPU runner executes it", "cells"],
            [(row.family, row.arch, dotted(row.covers) or "-", str(len(row.cells))) for row in plan.not_proven],
            right=[3],
        )
    for warning in plan.warnings:
        echo_wrapped(warning, label="note: ")


def _count(cells: int) -> str:
    return f"{cells} cell{'s' if cells != 1 else ''}"


def _row(cell: Cell) -> tuple[str, str, str, str]:
    if cell.shim:
        count = len(cell.requires) or len(cell.extras)
        return cell.id, f"requires {count} providers" if cell.requires else f"{count} extras", "-", "shim"
    proof = "import" if not cell.targets else "gpu" if cell.smoke else "not proven"
    return cell.id, dotted(cell.targets) or "-", dotted(cell.covers) or "-", proof


def show_difference(difference: PlanDiff) -> None:
    """Cells that came (+), went (-) and changed (~), one row a thing."""
    then, now = difference.version
    version = now if then == now else f"{then or 'no such channel'} -> {now}"
    click.echo(f"{difference.channel} {version}, since {difference.revision}")
    rows: list[tuple[str, str, str, str]] = []
    rows += [("+", cell.id, f"the cell: {dotted(cell.targets) or cell.wheel}", "") for cell in difference.came]
    rows += [("-", cell.id, "", f"the cell: {dotted(cell.targets) or cell.wheel}") for cell in difference.went]
    for change in difference.changed:
        rows += _rows(change)
    if rows:
        click.echo()
        echo_table(["", "cell", "came", "went"], rows)
    left_out = [("now", row.id, row.what, row.reason) for row in difference.excluded]
    left_out += [("no more", row.id, row.what, row.reason) for row in difference.included]
    if left_out:
        echo_table(["left out", "of", "what", "reason"], left_out)
    click.echo(
        f"{len(difference.came)} came, {len(difference.went)} went, {len(difference.changed)} changed, "
        f"{difference.same} as they were"
    )
    if difference.estimates:
        from fatwheel.console.report_tables import show_estimates

        show_estimates(difference.estimates)


def _rows(change: CellChange) -> list[tuple[str, str, str, str]]:
    rows: list[tuple[str, str]] = []
    if change.targets_came or change.targets_went:
        rows.append((_listed("target", change.targets_came), _listed("target", change.targets_went)))
    if change.covers_came or change.covers_went:
        rows.append((_listed("covers", change.covers_came), _listed("covers", change.covers_went)))
    rows += [(f"{name}: {now or 'none'}", f"{name}: {old or 'none'}") for name, (old, now) in change.fields.items()]
    return [("~" if place == 0 else "", change.id if place == 0 else "", *row) for place, row in enumerate(rows)]


def _listed(what: str, values: Sequence[Target] | Sequence[Capability]) -> str:
    return f"{what} {dotted(values)}" if values else ""
