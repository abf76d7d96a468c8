"""A plan on GitHub Actions: its file, the matrices of the jobs behind it, notices, and the step summary."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from typing import TYPE_CHECKING

from fatwheel.console.output import say

if TYPE_CHECKING:
    from fatwheel.declaration import Declaration
    from fatwheel.records.plan import Plan


def write_matrices(declaration: Declaration, whole: Plan, chosen: Plan, day: dt.date, file: Path) -> None:
    """Write the whole plan, which publishing is measured by, and jobs for what was chosen of it.

    Raises `UsageError` for what GitHub would not take.
    """
    from fatwheel.plan.revision import commit_of
    from fatwheel.plan.sessions import session_names
    from fatwheel.records.base import write_atomically
    from fatwheel.workflows.matrix import build_rows, notices, outputs, smoke_rows, summary, with_runner

    chosen = with_runner(chosen, declaration.document.workflows.runner)
    written = outputs(
        build_rows(chosen.cells, session_names(declaration)), smoke_rows(chosen.cells), tag=whole.tag or "",
        commit=commit_of("HEAD", declaration.root), date=f"{day:%Y%m%d}",
    )  # fmt: skip
    write_atomically(file, whole.to_json().encode())
    for line in notices(whole):
        say(line)
    _append("GITHUB_OUTPUT", written)
    _append("GITHUB_STEP_SUMMARY", summary(whole, {cell.id for cell in chosen.cells}))


def _append(variable: str, text: str) -> None:
    if place := os.environ.get(variable):
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(text)
