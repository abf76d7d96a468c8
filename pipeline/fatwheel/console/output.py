"""What commands share: the options that mean the same everywhere, JSON, and tables of 80 columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fatwheel.errors import PipelineError
    from fatwheel.records.base import Record
    from fatwheel.records.inventory import Inventory

_PATH = click.Path(path_type=Path)

matrix_option: Callable[[Any], Any] = click.option(
    "--matrix", "-m", type=_PATH, default=Path("matrix.yaml"), envvar="FATWHEEL_MATRIX", show_default=True,
    show_envvar=True, help="The declaration.",
)  # fmt: skip
# For commands that serve anybody's files: nothing is read unless it is given.
optional_matrix_option: Callable[[Any], Any] = click.option(
    "--matrix", "-m", type=_PATH, default=None, help="The declaration, where its limits and names shall count."
)
json_option: Callable[[Any], Any] = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
channel_option: Callable[[Any], Any] = click.option(
    "--channel", "-c", default="release", show_default=True, help="release, nightly or pull-request."
)
engine_option: Callable[[Any], Any] = click.option(
    "--engine", default="host", show_default=True, help="Where builds run: host, docker or podman."
)
toolchain_option: Callable[[Any], Any] = click.option(
    "--toolchain", default="auto", show_default=True, help="Which CUDA toolkit: auto, system or pypi."
)
date_option: Callable[[Any], Any] = click.option(
    "--date", default=None, metavar="YYYYMMDD", envvar="FATWHEEL_DATE",
    help="The day of a nightly; today in UTC if not given.",
)  # fmt: skip


def echo_json(value: Record | Inventory | Sequence[Record] | dict[str, Any]) -> None:
    """One JSON document on standard output."""
    import json

    if isinstance(value, dict):
        click.echo(json.dumps(value, indent=2))
    elif isinstance(value, Sequence):
        click.echo(json.dumps([record.model_dump(mode="json", by_alias=True) for record in value], indent=2))
    else:
        click.echo(value.to_json(), nl=False)


def say(text: str) -> None:
    """A line of progress, on standard error."""
    click.echo(text, err=True)


def raise_all(failed: Sequence[PipelineError]) -> None:
    """Raise what failed: one as it is; of several, the first of the highest status, after the others are shown."""
    if not failed:
        return
    last = max(failed, key=lambda error: error.status)
    for error in failed:
        if error is not last:
            echo_error(error)
    raise last


def echo_error(error: PipelineError) -> None:
    """An error on standard error, its label in red where colors are wanted."""
    before, label, after = error.shown().partition("error: ")
    say(f"{before}{click.style(label, fg='red', bold=True)}{after}")


def echo_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    right: Iterable[int] = (),
    whole: Iterable[int] = (),
    styles: Mapping[str, str] | None = None,
) -> None:
    """A table and an empty line on standard output, as wide as the terminal (80 columns where there is none).

    It is plain when piped. ``right`` names the columns, from 0, whose values are set to the right; ``whole`` those
    whose values are not broken; ``styles`` has the colours of values.
    """
    import shutil

    from fatwheel.console.table import drawn

    room = shutil.get_terminal_size((80, 24)).columns
    lines = drawn(headings, rows, title=title, room=room, right=set(right), whole=set(whole), styles=styles or {})
    click.echo("\n".join(lines) + "\n", color=False if os.environ.get("NO_COLOR") else None)


def echo_wrapped(text: str, indent: str = "", label: str = "", *, err: bool = False) -> None:
    """Prose on standard output, or error, broken at 80 columns; a ``label`` before it is in yellow, and not broken."""
    import textwrap

    filled = textwrap.fill(
        f"{label}{text}", 80, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip
    begin = len(indent) + len(label)
    click.echo(indent + click.style(label, fg="yellow") + filled[begin:] if label else filled, err=err)
