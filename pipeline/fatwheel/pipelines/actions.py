"""Prepare a plan for GitHub Actions: job matrices, step outputs, annotations and the step summary."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from fatwheel.declaration import Declaration
from fatwheel.plan.revision import commit_of
from fatwheel.plan.sessions import session_names
from fatwheel.records.plan import Plan
from fatwheel.workflows.matrix import (
    build_rows,
    format_annotations,
    format_outputs,
    render_summary,
    smoke_rows,
    with_runner,
)


@dataclass(frozen=True)
class ActionsPlan:
    """What the planning step passes to GitHub Actions."""

    outputs: str  # lines NAME=VALUE for GITHUB_OUTPUT
    annotations: tuple[str, ...]  # workflow commands, to be printed
    summary: str  # Markdown


def prepare_actions(declaration: Declaration, plan: Plan, selected: Plan, day: dt.date) -> ActionsPlan:
    """Prepare jobs for the ``selected`` cells of a ``plan``, for a run on ``day``.

    Publishing always compares with the whole plan. Raises `UsageError` for matrices that exceed GitHub's limits.
    """
    cells = with_runner(selected, declaration.document.workflows.runner).cells
    return ActionsPlan(
        format_outputs(
            build_rows(cells, session_names(declaration)), smoke_rows(cells), tag=plan.tag or "",
            commit=commit_of("HEAD", declaration.root), date=f"{day:%Y%m%d}",
        ),
        tuple(format_annotations(plan)),
        render_summary(plan, {cell.id for cell in cells}),
    )  # fmt: skip
