"""`fatwheel pins`: list or update the commits that GitHub actions are pinned to."""

from __future__ import annotations

import os
from pathlib import Path

import click

from fatwheel.console.options import PATH, json_option, matrix_option, named_command
from fatwheel.console.output import echo_json, echo_table
from fatwheel.pipelines.pins import update_action_pins
from fatwheel.workflows.context import find_repository_root
from fatwheel.workflows.pins import load_pins


@named_command("pins")
@matrix_option
@click.option("--update", is_flag=True, help="Look up the newest version of each action.")
@click.option("--output", "-o", type=PATH, help="Path of the pins.  [default: .github/fatwheel/actions.json]")
@click.option(
    "--server", envvar="GITHUB_SERVER_URL", default="https://github.com", show_default=True, show_envvar=True,
    help="Git server that hosts the actions.",
)  # fmt: skip
@json_option
def command(matrix: Path, update: bool, output: Path | None, server: str, as_json: bool) -> None:
    """--update also updates workflows that fatwheel did not generate; then run `fatwheel generate`.

    Exits with code 7 if a repository cannot be read; then nothing is written.
    """
    root = find_repository_root(matrix)
    before = load_pins(root)
    after, changed = update_action_pins(root, before, server, output, os.environ) if update else (before, [])
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
