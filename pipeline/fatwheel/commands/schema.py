"""`fatwheel schema`: print the JSON Schema of matrix.yaml, or write it to a file."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.atomic import write_atomically
from fatwheel.console.options import named_command
from fatwheel.declaration.schema import schema_text


@named_command("schema")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), default=None,
    help="Output file.  [default: standard output]",
)  # fmt: skip
def command(output: Path | None) -> None:
    """Editors that read JSON Schema complete and check matrix.yaml with it."""
    if output is None:
        click.echo(schema_text(), nl=False)
    else:
        write_atomically(output, schema_text().encode())
