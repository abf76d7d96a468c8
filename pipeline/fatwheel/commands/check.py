"""`fatwheel check`: the declaration, and what was generated from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fatwheel.console.options import json_option, matrix_option
from fatwheel.console.output import echo_json, echo_progress, echo_wrapped
from fatwheel.console.summaries import SUMMARIES

if TYPE_CHECKING:
    from fatwheel.declaration import Declaration
    from fatwheel.errors import Diagnostic, PipelineError


@click.command(help=SUMMARIES["check"])
@matrix_option
@json_option
def command(matrix: Path, as_json: bool) -> None:
    """Ends with 0, 2 (mistakes in the declaration) or 3 (a generated file that differs)."""
    from fatwheel.declaration import read
    from fatwheel.errors import DeclarationError, PipelineError
    from fatwheel.plan import find_all_errors

    failure: PipelineError | None = None
    notes: list[Diagnostic] = []
    summary = ""
    try:
        reading = read(matrix)
        if wrong := find_all_errors(reading):
            raise DeclarationError(tuple(wrong))
        summary, notes, failure = _judge(reading.checked())
    except PipelineError as error:
        failure = error
    if as_json:
        echo_json(_as_data(matrix, failure, notes))
    else:
        if summary:
            click.echo(summary)
        for note in notes:
            echo_progress(f"{note.file}:{note.line}:{note.column}: {click.style('note', fg='yellow')}")
            echo_wrapped(note.what, "  ", err=True)
            echo_wrapped(f"help: {note.help}", "  ", err=True)
    if failure is not None:
        raise failure


def _judge(declaration: Declaration) -> tuple[str, list[Diagnostic], PipelineError | None]:
    """What a sound declaration declares, in a line; notes; and drift."""
    from fatwheel.declaration.schema import drift
    from fatwheel.errors import DriftError
    from fatwheel.plan import find_warnings, make_plan
    from fatwheel.workflows import find_drift as workflow_drift

    counts = [f"{name} {len(make_plan(declaration, name).cells)}" for name in declaration.channels]
    names = ", ".join(package.name for package in declaration.packages)
    summary = f"{declaration.path}: {names} {declaration.version}; cells: {', '.join(counts)}"
    fixes = []
    found = []
    if difference := drift(declaration.root):
        found.append(f"matrix.schema.json is not what this fatwheel writes\n{difference}")
        fixes.append("`fatwheel schema -o matrix.schema.json`")
    if workflows := list(map(str, workflow_drift(declaration))):
        found += ["the workflows are not what this declaration generates", *workflows]
        fixes.append(f"`fatwheel generate --matrix {declaration.path}`")
    failure = DriftError("\n".join(found), help=f"run {', and '.join(fixes)}") if found else None
    return summary, find_warnings(declaration), failure


def _as_data(matrix: Path, failure: PipelineError | None, notes: list[Diagnostic]) -> dict[str, Any]:
    from fatwheel.errors import DeclarationError, DriftError

    problems = failure.errors if isinstance(failure, DeclarationError) else ()
    other = failure if failure and not isinstance(failure, DeclarationError | DriftError) else None
    return {
        "file": str(matrix),
        "ok": failure is None,
        "problems": [_problem(p) for p in problems],
        "notes": [_problem(p) for p in notes],
        "drift": failure.what if isinstance(failure, DriftError) else None,
        "error": str(other) if other else None,
    }


def _problem(problem: Diagnostic) -> dict[str, Any]:
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "what": problem.what,
        "text": problem.text,
        "help": problem.help,
    }
