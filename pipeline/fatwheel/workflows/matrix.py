"""A plan as the job matrices of GitHub Actions, and what the planning step says about it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fatwheel.errors import UsageError
from fatwheel.records.plan import Cell, Plan

MATRIX_JOBS = 256
"""The most jobs that one matrix may hold."""
OUTPUT_BYTES = 1 << 20
"""The most that the outputs of one job may hold, counted as UTF-16: two bytes a character."""

Rows = list[dict[str, Any]]


def artifact_names(cell: Cell) -> list[str]:
    """The workflow artifacts that a cell brings: its wheel's, and its GPU test's record."""
    return [cell.artifact, f"{cell.artifact}-smoke"] if cell.smoke else [cell.artifact]


def build_rows(cells: Sequence[Cell], sessions: Mapping[str, str]) -> Rows:
    """One row for each cell to build; ``sessions`` are the nox sessions by cell id.

    ``import``: whether it can be installed and imported as it is, which an sdist cannot. Raises `UsageError` for
    a cell that no runner builds.
    """
    lost = [cell.id for cell in cells if not cell.runner and cell.arch]
    if lost:
        raise UsageError(f"no runner builds {', '.join(lost)}", help="declare one under runners.build")
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
    """One row for each cell that a GPU runner proves."""
    return [
        {"id": cell.id, "artifact": cell.artifact, "wheel": cell.wheel, "runner": cell.smoke}
        for cell in cells
        if cell.smoke and not cell.shim
    ]


def with_runner(plan: Plan, runner: str) -> Plan:
    """The plan with a runner for the cells that any machine can build: pure wheels and shims."""
    cells = [cell if cell.runner or cell.arch else cell.model_copy(update={"runner": runner}) for cell in plan.cells]
    return plan.model_copy(update={"cells": cells})


def outputs(build: Rows, smoke: Rows, **more: str) -> str:
    """What the planning step appends to GITHUB_OUTPUT. Raises `UsageError` for what GitHub would not take."""
    for name, rows in (("build", build), ("smoke", smoke)):
        if len(rows) > MATRIX_JOBS:
            raise UsageError(
                f"{len(rows)} jobs to {name}, and a matrix holds at most {MATRIX_JOBS}",
                help="select fewer cells, or divide the set",
            )
    held = {"build": json.dumps(build), "smoke": json.dumps(smoke), **more}
    size = 2 * sum(len(value) for value in held.values())
    if size > OUTPUT_BYTES:
        raise UsageError(
            f"the matrices take {size:,} bytes, and a job's outputs {OUTPUT_BYTES:,}", help="select fewer cells"
        )
    return "".join(f"{name}={value}\n" for name, value in held.items())


def notices(plan: Plan) -> Iterator[str]:
    """Lines that GitHub shows on the run's page: what nobody proves, what is left out, and warnings."""
    for row in plan.not_proven:
        what = f"{row.family} on {row.arch}: no GPU runner; {' '.join(row.covers)} is promised and nobody runs it"
        yield f"::notice title=not proven::{what}"
    for text in plan.warnings:
        yield f"::warning title=plan::{' '.join(text.split())}"


def summary(plan: Plan, built: set[str]) -> str:
    """The plan in Markdown, for the step summary."""
    lines = [
        f"### {plan.tag or plan.channel}: {len(plan.cells)} wheels, {len(built)} built in this run",
        "",
        "| cell | targets | wheel | GPU test |",
        "| --- | --- | --- | --- |",
    ]
    for cell in plan.cells:
        proof = cell.smoke or ("not proven" if cell.targets else "-")
        name = cell.id if cell.id in built else f"{cell.id} (not built)"
        lines.append(f"| {name} | {' '.join(cell.targets) or '-'} | `{cell.wheel}` | {proof} |")
    lines += [f"\n{row.id} without {row.what}: {row.reason}" for row in plan.excluded]
    return "\n".join([*lines, "", ""])
