"""What commands print: JSON, tables and errors on a terminal; progress on standard error."""

from __future__ import annotations

import json
import os
import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fatwheel.errors import PipelineError
    from fatwheel.records.base import Record
    from fatwheel.records.inventory import Inventory

_WIDTH = 80  # columns of prose, and of a terminal whose width is unknown


@dataclass
class Output:
    """How one run of the command prints, and whether it has printed its JSON result."""

    quiet: bool = False
    verbose: bool = False
    json_printed: bool = False

    @classmethod
    def current(cls) -> Output:
        """Return the settings of the command that is running; the defaults outside a command."""
        context = click.get_current_context(silent=True)
        return (context.find_object(cls) if context else None) or cls()


def allow_color() -> bool | None:
    """Return False if NO_COLOR or TERM=dumb forbids colors, else None: colors on terminals only."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def echo_json(value: Record | Inventory | Sequence[Record | Inventory] | dict[str, Any]) -> None:
    """Print one JSON document on standard output: an array for a sequence of records, else an object."""
    Output.current().json_printed = True
    if isinstance(value, dict):
        click.echo(json.dumps(value, indent=2))
    elif isinstance(value, Sequence):
        click.echo(json.dumps([json.loads(record.to_json()) for record in value], indent=2))
    else:
        click.echo(value.to_json(), nl=False)


def echo_progress(text: str) -> None:
    """Print a line of progress or a note on standard error, unless --quiet is given."""
    if not Output.current().quiet:
        click.echo(text, err=True, color=allow_color())


def echo_detail(text: str) -> None:
    """Print a line on standard error if --verbose is given."""
    if Output.current().verbose:
        click.echo(text, err=True, color=allow_color())


def echo_warning(text: str) -> None:
    """Print a line on standard error, also with --quiet."""
    click.echo(text, err=True, color=allow_color())


def raise_all(failed: Sequence[PipelineError]) -> None:
    """Raise the first error with the highest exit code, after printing the others; do nothing if there is none."""
    if not failed:
        return
    last = max(failed, key=lambda error: error.exit_code)
    for error in failed:
        if error is not last:
            echo_error(error)
    raise last


def echo_error(error: PipelineError) -> None:
    """Print an error on standard error, with its label in red where colors are allowed."""
    before, label, after = error.shown().partition("error: ")
    echo_warning(f"{before}{click.style(label, fg='red', bold=True) if label else ''}{after}")


def echo_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    right: Iterable[int] = (),
    whole: Iterable[int] = (),
    styles: Mapping[str, str] | None = None,
) -> None:
    """Print a table and an empty line on standard output, at most as wide as the terminal (else 80 columns).

    ``right`` lists the right-aligned columns, from 0; ``whole`` the columns that are never wrapped; ``styles`` maps
    values to colors, which are used on terminals only.
    """
    from fatwheel.console.table import draw_table

    width = shutil.get_terminal_size((_WIDTH, 24)).columns
    lines = draw_table(
        headings, rows, title=title, width=width, right=set(right), whole=set(whole), styles=styles or {}
    )
    click.echo("\n".join(lines) + "\n", color=allow_color())


def echo_wrapped(text: str, indent: str = "", label: str = "", *, err: bool = False) -> None:
    """Print prose wrapped at 80 columns, on standard output or error; ``label`` is printed before it in yellow."""
    filled = textwrap.fill(
        f"{label}{text}", _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip
    begin = len(indent) + len(label)
    styled = indent + click.style(label, fg="yellow") + filled[begin:] if label else filled
    click.echo(styled, err=err, color=allow_color())
