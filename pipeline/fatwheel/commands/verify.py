"""`fatwheel verify`: check that wheels are valid and match their cell."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import PATH, complete_cells, json_option, named_command, optional_matrix_option
from fatwheel.console.output import echo_detail, echo_json, raise_all
from fatwheel.declaration import load
from fatwheel.errors import PipelineError, UsageError, VerificationError
from fatwheel.formatting import count_of
from fatwheel.pipelines.verify import CellFinder, verify_wheel
from fatwheel.records.verification import Verification


@named_command("verify")
@click.argument("wheel", nargs=-1, required=True, type=PATH)
@click.option(
    "--cell", metavar="ID", default=None, shell_complete=complete_cells,
    help="Compare the wheel with this cell of matrix.yaml.",
)  # fmt: skip
@optional_matrix_option
@json_option
def command(wheel: tuple[Path, ...], cell: str | None, matrix: Path | None, as_json: bool) -> None:
    """A wheel is compared with the cell of matrix.yaml that it was built for, if there is one.

    Exits with code 5 if a wheel has an error; warnings do not count. --json prints an array.
    """
    if cell and len(wheel) > 1:
        raise UsageError(f"{len(wheel)} wheels for one --cell", help="pass only the wheel of this cell")
    if cell and matrix is None:
        raise UsageError("--cell requires a matrix.yaml", help="add --matrix FILE")
    finder = CellFinder(load(matrix)) if matrix else None
    found: list[Verification] = []
    failed: list[PipelineError] = []
    for one in wheel:
        try:
            found.append(verify_wheel(one, finder, cell))
        except PipelineError as error:
            failed.append(error)
            continue
        if found[-1].cell:
            echo_detail(f"{one.name}: compared with cell {found[-1].cell}")
        elif matrix:
            echo_detail(f"{one.name}: not a wheel of {matrix}")
        if not as_json:
            _print(found[-1])
    if as_json and found:
        echo_json(found)
    invalid = [one.wheel for one in found if one.errors]
    if len(invalid) == 1:
        failed.append(VerificationError("verification failed", where=invalid[0]))
    elif invalid:
        failed.append(VerificationError(f"{len(invalid)} of {len(wheel)} wheels failed verification"))
    raise_all(failed)


def _print(verification: Verification) -> None:
    for finding in verification.findings:
        color = "red" if finding.severity == "error" else "yellow"
        place = f"{finding.member}: " if finding.member else ""
        click.echo(f"{click.style(finding.severity, fg=color)} {finding.kind}  {place}{finding.what}")
        click.echo(f"  help: {finding.help}")
    errors, warnings = len(verification.errors), len(verification.findings) - len(verification.errors)
    verdict = count_of(errors, "error") if errors else "OK"
    noted = f", {count_of(warnings, 'warning')}" if warnings else ""
    kind = " (placeholder: device code not checked)" if verification.placeholder else ""
    click.echo(f"{verification.wheel}: {verdict}{noted}{kind}")
