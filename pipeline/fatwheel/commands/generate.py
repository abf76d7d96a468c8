"""`fatwheel generate`: generate GitHub Actions workflows from matrix.yaml."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import PATH, json_option, matrix_option, named_command
from fatwheel.console.output import echo_json
from fatwheel.declaration import load
from fatwheel.errors import DriftError
from fatwheel.workflows import apply_differences, find_differences


@named_command("generate")
@matrix_option
@click.option("--check", is_flag=True, help="Write nothing; exit with code 3 if a file is out of date.")
@click.option("--output", "-o", type=PATH, help="Output folder.  [default: .github/workflows]")
@json_option
def command(matrix: Path, check: bool, output: Path | None, as_json: bool) -> None:
    """Files that fatwheel generated earlier and no longer needs are removed.

    Exits with code 2 if GitHub would reject a workflow.
    """
    found = find_differences(load(matrix), output)
    if not check:
        apply_differences(found)
    if as_json:
        done = "differs" if check else "written"
        echo_json({"files": {one.name: "stale" if one.generated is None else done for one in found}})
    elif not check:
        for one in found:
            click.echo(f"{one.name}: {'removed' if one.generated is None else 'written'}")
        if not found:
            click.echo("no changes")
    if check and found:
        raise DriftError("\n".join(map(str, found)), help=f"run `fatwheel generate --matrix {matrix}`")
