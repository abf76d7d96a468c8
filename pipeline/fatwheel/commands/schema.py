"""`fatwheel schema`: the JSON Schema of matrix.yaml, for editors and for the drift check."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.summaries import SUMMARIES


@click.command(help=SUMMARIES["schema"])
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), default=None, help="A file.")
def command(output: Path | None) -> None:
    """To standard output, or to a file."""
    from fatwheel.declaration.schema import schema_text
    from fatwheel.records.base import write_atomically

    if output is None:
        click.echo(schema_text(), nl=False)
    else:
        write_atomically(output, schema_text().encode())
