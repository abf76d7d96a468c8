"""`fatwheel verify`: whether a wheel is sound, and what its cell says."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import json_option, matrix_option
from fatwheel.console.output import echo_json, raise_all
from fatwheel.console.summaries import SUMMARIES
from fatwheel.records.verification import Verification
from fatwheel.wheels.checks.expected import Expected


@click.command(help=SUMMARIES["verify"])
@click.argument("wheel", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--cell", metavar="ID", default=None, help="Hold it against this cell of the declaration.")
@matrix_option
@json_option
def command(wheel: tuple[Path, ...], cell: str | None, matrix: Path, as_json: bool) -> None:
    """Ends with 0 or 5 (at least one error; warnings do not count). Of several wheels, --json prints a list."""
    from fatwheel.errors import PipelineError, UsageError, VerificationError
    from fatwheel.wheels.verify import verify

    if cell and len(wheel) > 1:
        raise UsageError(f"{len(wheel)} wheels for one --cell", help="give the wheel of this cell alone")
    found: list[Verification] = []
    failed: list[PipelineError] = []
    for one in wheel:
        try:
            found.append(verify(one, _expected(one, cell, matrix) if cell else None))
        except PipelineError as error:
            failed.append(error)
            continue
        if not as_json:
            _show(found[-1])
    if as_json and (found or len(wheel) > 1):
        echo_json(found[0] if len(wheel) == 1 else found)
    failed += [
        VerificationError(f"{count} thing{'s' if count > 1 else ''} wrong", where=seen.wheel)
        for seen in found
        if (count := len(seen.errors))
    ]
    raise_all(failed)


def _expected(wheel: Path, cell_id: str, matrix: Path) -> Expected:
    """The cell, and what its build reported where the build record lies beside the wheel."""
    from fatwheel.declaration import load
    from fatwheel.plan import find_cell
    from fatwheel.records.build import BuildRecord
    from fatwheel.records.files import BUILD, beside
    from fatwheel.wheels.checks.expected import expected_of

    declaration = load(matrix)
    wanted = find_cell(declaration, cell_id)
    record = beside(wheel, BUILD)
    return expected_of(
        wanted,
        build=BuildRecord.read(record) if record.exists() else None,
        stamp_files=declaration.package(wanted.package).stamp,
    )


def _show(verification: Verification) -> None:
    for finding in verification.findings:
        colour = "red" if finding.severity == "error" else "yellow"
        place = f"{finding.member}: " if finding.member else ""
        click.echo(f"{click.style(finding.severity, fg=colour)} {finding.kind}  {place}{finding.what}")
        click.echo(f"  help: {finding.help}")
    warnings = len(verification.findings) - len(verification.errors)
    verdict = "sound" if verification.sound else f"{len(verification.errors)} wrong"
    noted = f", {warnings} warning{'s' if warnings != 1 else ''}" if warnings else ""
    kind = " (a placeholder: device code not looked for)" if verification.placeholder else ""
    click.echo(f"{verification.wheel}: {verdict}{noted}{kind}")
