"""`fatwheel generate`: the GitHub Actions workflows of a declaration."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import json_option, matrix_option
from fatwheel.console.output import echo_json
from fatwheel.console.summaries import SUMMARIES


@click.command(help=SUMMARIES["generate"])
@matrix_option
@click.option("--check", is_flag=True, help="Write nothing; end with 3 if anything would change.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Another folder  [default: .github/workflows]")
@json_option
def command(matrix: Path, check: bool, output: Path | None, as_json: bool) -> None:
    """Ends with 0, 2 (the declaration, or steps that GitHub would refuse) or 3 (drift, with --check)."""
    from fatwheel.declaration import load
    from fatwheel.errors import DriftError
    from fatwheel.workflows import apply_differences, find_differences

    found = find_differences(load(matrix), output)
    if not check:
        apply_differences(found)
    if as_json:
        done = "differs" if check else "written"
        echo_json({"files": {d.name: "stale" if d.generated is None else done for d in found}})
    elif not check:
        for difference in found:
            click.echo(f"{difference.name}: {'removed' if difference.generated is None else 'written'}")
        if not found:
            click.echo("all as it was")
    if check and found:
        raise DriftError("\n".join(map(str, found)), help=f"run `fatwheel generate --matrix {matrix}`")
