"""`fatwheel check`: the declaration, and what was generated from it."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.commands._io import echo_json, json_option, matrix_option


@click.command(help="Check a declaration, and what was generated from it.")
@matrix_option
@json_option
def command(matrix: Path, as_json: bool) -> None:
    """Ends with 0, 2 (mistakes in the declaration) or 3 (a generated file that differs)."""
    from pipeline.declaration import load
    from pipeline.declaration.schema import drift
    from pipeline.errors import DeclarationError, DriftError, PipelineError
    from pipeline.plan import channels, make_plan, problems

    failure: PipelineError | None = None
    summary = ""
    try:
        declaration = load(matrix)
        wrong = problems(declaration)
        if wrong:
            failure = DeclarationError(tuple(wrong))
        else:
            counts = [f"{name} {len(make_plan(declaration, name).cells)}" for name in channels(declaration)]
            names = ", ".join(package.name for package in declaration.packages)
            summary = f"{matrix}: {names} {declaration.version}; cells: {', '.join(counts)}"
            difference = drift(declaration.root)
            if difference:
                remedy = "run `fatwheel schema -o matrix.schema.json`"
                failure = DriftError(
                    f"matrix.schema.json is not what this fatwheel writes\n{difference}", remedy=remedy
                )
    except DeclarationError as error:
        failure = error
    if as_json:
        listed = failure.problems if isinstance(failure, DeclarationError) else ()
        echo_json(
            {
                "file": str(matrix),
                "ok": failure is None,
                "problems": [
                    {"file": p.file, "line": p.line, "column": p.column, "what": p.what, "text": p.text, "do": p.remedy}
                    for p in listed
                ],
                "drift": failure.what if isinstance(failure, DriftError) else None,
            }
        )
    elif failure is None:
        click.echo(summary)
    if failure is not None:
        raise failure
