"""`fatwheel plan`: what a channel builds, what it leaves out, and why."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.commands._io import channel_option, date_option, echo_json, echo_table, json_option, matrix_option
from pipeline.records.plan import Plan


@click.command(help="Show what a channel builds, what it leaves out, and why.")
@matrix_option
@channel_option
@click.option("--only", metavar="GLOB", default=None, help="Only cells whose id matches.")
@date_option
@json_option
def command(matrix: Path, channel: str, only: str | None, date: str | None, as_json: bool) -> None:
    """The table for people, or the plan's JSON."""
    from pipeline.declaration import load
    from pipeline.plan import make_plan
    from pipeline.plan.versions import parse_date

    plan = make_plan(load(matrix), channel, only, parse_date(date))
    if as_json:
        echo_json(plan)
    else:
        _show(plan)


def _show(plan: Plan) -> None:
    where = f" -> {plan.repository}" if plan.repository else ""
    for package in plan.packages:
        click.echo(f"{package.name} {package.version}, {package.layout}, {package.cells} cells")
    click.echo(f"{plan.channel}: tag {plan.tag}{where}, {plan.completeness}")
    echo_table(
        ["cell", "targets", "covers", "proof"],
        [
            (c.id, " ".join(c.targets) or "-", " ".join(c.covers) or "-", _proof(c.smoke, bool(c.targets)))
            for c in plan.cells
        ],
    )
    if plan.excluded:
        echo_table(["left out of", "what", "reason"], [(row.id, row.what, row.reason) for row in plan.excluded])
    for warning in plan.warnings:
        click.echo(f"{click.style('note', fg='yellow')}: {warning}")


def _proof(smoke: str | None, has_code: bool) -> str:
    if not has_code:
        return "import"
    return "gpu" if smoke else "not proven"
