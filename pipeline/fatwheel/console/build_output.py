"""Print what was built: a table on the terminal, and the step summary on GitHub Actions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from fatwheel.console.output import echo_table
from fatwheel.errors import PipelineError
from fatwheel.formatting import count_of
from fatwheel.markdown import table
from fatwheel.records.build import BuildRecord
from fatwheel.records.plan import Cell
from fatwheel.sizes import size

_NAMED = 5  # excluded modules that are listed for each wheel
_SLOWEST = 10  # modules in the step summary


def show_builds(records: Sequence[BuildRecord], output: Path) -> None:
    """Print a table of the built wheels, then their paths in the folder ``output``."""
    for record in records:
        for module in record.excluded_modules[:_NAMED]:
            click.echo(f"{record.cell.id}: {module.name} is excluded: {module.reason}")
        if (more := len(record.excluded_modules) - _NAMED) > 0:
            click.echo(f"{record.cell.id}: {count_of(more, 'more module')} excluded; see the build record")
    echo_table(
        ["cell", "modules", "size", "seconds", "memory", "cache hits"],
        [
            (
                record.cell.id,
                str(len(record.modules)) if record.modules else "-",
                size(record.bytes),
                _seconds(record),
                _memory(record),
                _cache_hits(record),
            )
            for record in records
        ],
        right=(1, 2, 3, 4, 5),
    )
    for record in records:
        if record.cache and record.cache.reason:
            click.echo(f"{record.cell.id}: compiler cache: {record.cache.reason}")
    for record in records:
        click.echo(output / record.wheel)


def step_summary(records: Sequence[BuildRecord], failed: Sequence[tuple[Cell, PipelineError]]) -> str:
    """Return the step summary in Markdown: a row for each cell, and the slowest modules."""
    rows: list[tuple[str, ...]] = [
        (
            one.cell.id,
            f"`{one.wheel}`",
            size(one.bytes),
            _seconds(one),
            str(one.parallel.jobs) if one.parallel else "-",
            _memory(one),
            _cache_hits(one),
        )
        for one in records
    ]
    rows += [(cell.id, f"failed: {error.what.splitlines()[0]}", "", "", "", "", "") for cell, error in failed]
    headings = ("cell", "wheel", "size", "seconds", "jobs", "peak memory", "cache hits")
    lines = ["### Build", "", *table(headings, rows, right=range(2, 7))]
    timed = [(m.seconds, m.name, one.cell.id) for one in records for m in one.modules if m.seconds is not None]
    if timed:
        slowest = [(name, cell, f"{seconds:.1f}") for seconds, name, cell in sorted(timed, reverse=True)[:_SLOWEST]]
        lines += ["", *table(("module", "cell", "seconds"), slowest, right=(2,))]
    return "\n".join([*lines, ""]) + "\n"


def _seconds(record: BuildRecord) -> str:
    return "-" if record.seconds is None else f"{record.seconds:.0f}"


def _memory(record: BuildRecord) -> str:
    return "-" if record.peak_memory is None else size(record.peak_memory)


def _cache_hits(record: BuildRecord) -> str:
    used = record.cache
    return "-" if used is None else f"{used.hits} of {used.hits + used.misses}"
