"""`fatwheel check`: check matrix.yaml and the files generated from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fatwheel.console.options import json_option, matrix_option, named_command
from fatwheel.console.output import echo_json, echo_warning, echo_wrapped
from fatwheel.declaration import Declaration, read
from fatwheel.declaration.schema import drift
from fatwheel.errors import DeclarationError, Diagnostic, DriftError, PipelineError
from fatwheel.plan import find_all_errors, find_warnings, make_plan
from fatwheel.records.error import ErrorRecord
from fatwheel.workflows import find_drift as find_workflow_drift


@named_command("check")
@matrix_option
@json_option
def command(matrix: Path, as_json: bool) -> None:
    """Exits with code 2 if matrix.yaml has errors, and with 3 if a generated file is out of date."""
    failure: PipelineError | None = None
    warnings: list[Diagnostic] = []
    summary = ""
    try:
        reading = read(matrix)
        if errors := find_all_errors(reading):
            raise DeclarationError(tuple(errors))
        declaration = reading.checked()
        warnings = find_warnings(declaration)
        summary = _summarize(declaration)
        failure = _find_drift(declaration)
    except PipelineError as error:
        failure = error
    if as_json:
        echo_json(_as_data(matrix, failure, warnings))
    else:
        if summary:
            click.echo(summary)
        for warning in warnings:
            echo_warning(f"{warning.file}:{warning.line}:{warning.column}: {click.style('warning', fg='yellow')}")
            echo_wrapped(warning.what, "  ", err=True)
            echo_wrapped(f"help: {warning.help}", "  ", err=True)
    if failure is not None:
        raise failure


def _summarize(declaration: Declaration) -> str:
    """Return one line: packages, version, and the number of cells of each channel."""
    counts = [f"{name} {len(make_plan(declaration, name).cells)}" for name in declaration.channels]
    names = ", ".join(package.name for package in declaration.packages)
    return f"{declaration.path}: {names} {declaration.version}; cells: {', '.join(counts)}"


def _find_drift(declaration: Declaration) -> DriftError | None:
    """Return the error for generated files that are out of date, with their differences."""
    found: list[str] = []
    fixes: list[str] = []
    if difference := drift(declaration.root):
        found.append(f"matrix.schema.json is out of date\n{difference}")
        fixes.append("`fatwheel schema -o matrix.schema.json`")
    if workflows := list(map(str, find_workflow_drift(declaration))):
        found += ["the generated workflows are out of date", *workflows]
        fixes.append(f"`fatwheel generate --matrix {declaration.path}`")
    return DriftError("\n".join(found), help=f"run {' and '.join(fixes)}") if found else None


def _as_data(matrix: Path, failure: PipelineError | None, warnings: list[Diagnostic]) -> dict[str, Any]:
    errors = failure.errors if isinstance(failure, DeclarationError) else ()
    other = failure if failure and not isinstance(failure, DeclarationError | DriftError) else None
    return {
        "file": str(matrix),
        "ok": failure is None,
        "errors": [_diagnostic_data(one) for one in errors],
        "warnings": [_diagnostic_data(one) for one in warnings],
        "drift": failure.what if isinstance(failure, DriftError) else None,
        "error": ErrorRecord.of(other).model_dump(mode="json") if other else None,
    }


def _diagnostic_data(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "file": diagnostic.file,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "message": diagnostic.what,
        "text": diagnostic.text,
        "help": diagnostic.help,
    }
