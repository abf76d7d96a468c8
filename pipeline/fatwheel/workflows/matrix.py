"""Turn a plan into job matrices, annotations and a step summary for GitHub Actions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fatwheel.errors import UsageError
from fatwheel.formatting import count_of
from fatwheel.markdown import escape, table
from fatwheel.plan.plan_validation import MATRIX_JOBS
from fatwheel.records.plan import Cell, Plan
from fatwheel.targets import dotted

OUTPUT_BYTES = 1 << 20
"""GitHub's limit for all outputs of one job, counted as UTF-16: two bytes per character."""

Rows = list[dict[str, Any]]


def artifact_names(cell: Cell) -> list[str]:
    """The workflow artifacts of a cell: its wheel, and the smoke record of its GPU test."""
    return [cell.artifact, f"{cell.artifact}-smoke"] if cell.smoke else [cell.artifact]


def build_rows(cells: Sequence[Cell], sessions: Mapping[str, str]) -> Rows:
    """Make one matrix row per cell to build; ``sessions`` maps cell IDs to nox sessions.

    ``import``: whether the result can be imported as it is, which an sdist cannot. Raises `UsageError` for a cell
    without a runner.
    """
    without_runner = [cell.id for cell in cells if not cell.runner and cell.arch]
    if without_runner:
        raise UsageError(f"no runner for {', '.join(without_runner)}", help="declare one in runners.build")
    return [
        {
            "id": cell.id,
            "session": sessions[cell.id],
            "artifact": cell.artifact,
            "wheel": cell.wheel,
            "runner": cell.runner,
            "engine": "docker" if cell.image else "host",
            "import": cell.wheel.endswith(".whl"),
        }
        for cell in cells
    ]


def smoke_rows(cells: Sequence[Cell]) -> Rows:
    """Make one matrix row per cell with a GPU runner."""
    return [
        {"id": cell.id, "artifact": cell.artifact, "wheel": cell.wheel, "runner": cell.smoke}
        for cell in cells
        if cell.smoke and not cell.shim
    ]


def with_runner(plan: Plan, runner: str) -> Plan:
    """Assign a runner to the cells that any machine can build: pure wheels and shims."""
    cells = [cell if cell.runner or cell.arch else cell.model_copy(update={"runner": runner}) for cell in plan.cells]
    return plan.model_copy(update={"cells": cells})


def format_outputs(build: Rows, smoke: Rows, **more: str) -> str:
    """Format the outputs of the planning step, NAME=VALUE. Raises `UsageError` if they exceed GitHub's limits."""
    for name, rows in (("build", build), ("smoke", smoke)):
        if len(rows) > MATRIX_JOBS:
            raise UsageError(
                f"{len(rows)} {name} jobs, but GitHub allows at most {MATRIX_JOBS} in a matrix",
                help="select fewer cells, or split the set",
            )
    values = {"build": json.dumps(build), "smoke": json.dumps(smoke), **more}
    size = 2 * sum(len(value) for value in values.values())
    if size > OUTPUT_BYTES:
        raise UsageError(
            f"the job matrices take {size:,} bytes, but GitHub allows at most {OUTPUT_BYTES:,} for a job's outputs",
            help="select fewer cells",
        )
    return "".join(f"{name}={value}\n" for name, value in values.items())


def format_annotations(plan: Plan) -> Iterator[str]:
    """Format workflow commands for the run's page: untested coverage, and warnings."""
    for row in plan.not_proven:
        yield f"::notice title=untested::{row.family} on {row.arch}: no GPU runner for {dotted(row.covers)}"
    for text in plan.warnings:
        yield f"::warning title=plan::{' '.join(text.split())}"


def render_summary(plan: Plan, built: set[str]) -> str:
    """Render the plan in Markdown for the step summary; ``built`` are the IDs of the cells that this run builds."""
    rows = []
    for cell in plan.cells:
        tested = cell.smoke or ("untested" if cell.targets else "-")
        name = cell.id if cell.id in built else f"{cell.id} (not built)"
        rows.append((name, dotted(cell.targets) or "-", f"`{cell.wheel}`", tested))
    lines = [
        f"### {plan.tag or plan.channel}: {count_of(len(plan.cells), 'wheel')}, {len(built)} built in this run",
        "",
        *table(("cell", "targets", "wheel", "GPU test"), rows),
    ]
    lines += [f"\n{row.id}: {row.what} excluded, {escape(row.reason)}" for row in plan.excluded]
    return "\n".join([*lines, "", ""])
