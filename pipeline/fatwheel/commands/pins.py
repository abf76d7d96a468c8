"""`fatwheel pins`: the commits at which actions are used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fatwheel.console.options import json_option, matrix_option
from fatwheel.console.output import echo_json, echo_table
from fatwheel.console.summaries import SUMMARIES

if TYPE_CHECKING:
    from fatwheel.workflows.pins import Pins


@click.command(help=SUMMARIES["pins"])
@matrix_option
@click.option("--update", is_flag=True, help="Ask each action's repository for its newest version.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Where to  [default: .github/fatwheel/actions.json]",
)
@click.option(
    "--server", envvar="GITHUB_SERVER_URL", default="https://github.com", show_default=True, help="Where actions are."
)
@json_option
def command(matrix: Path, update: bool, output: Path | None, server: str, as_json: bool) -> None:
    """Ends with 0, 2 or 7 (a repository that cannot be read; nothing was written).

    With --update it also moves the pins in workflows that are written by hand; then run `fatwheel generate`.
    """
    from fatwheel.records.base import write_atomically
    from fatwheel.workflows.action_versions import fetch_newest, find_handwritten, update_pins
    from fatwheel.workflows.context import MARK, find_repository_root
    from fatwheel.workflows.pins import OWN_PINS, format_pins, load_pins

    root = find_repository_root(matrix)
    before = load_pins(root)
    after: Pins = {name: fetch_newest(name, server, os.environ) for name in before} if update else before
    changed: list[str] = []
    if update and after != before:
        place = output or root / OWN_PINS
        write_atomically(place, format_pins(after).encode())
        changed.append(str(place))
    if update:
        for path in find_handwritten(root / ".github", [f"# {MARK} "]):
            text = path.read_text(encoding="utf-8")
            if (moved := update_pins(text, after)) != text:
                write_atomically(path, moved.encode())
                changed.append(str(path))
    if as_json:
        echo_json({
            "pins": {p.action: {"version": p.version, "commit": p.commit} for p in after.values()}, "changed": changed
        })  # fmt: skip
        return
    rows = [
        (pin.action, pin.version if before[name] == pin else f"{before[name].version} -> {pin.version}", pin.commit)
        for name, pin in sorted(after.items())
    ]
    echo_table(["action", "version", "commit"], rows)
    for name in changed:
        click.echo(f"{name}: written")
    if changed:
        click.echo("next: `fatwheel generate`")
