"""`fatwheel prune`: delete a channel's expired releases, their tags and their index entries."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import PATH, channel_option, json_option, matrix_option, named_command, store_option
from fatwheel.console.output import echo_json
from fatwheel.errors import ReleaseIncomplete
from fatwheel.pipelines.retention import declared_retention, prune
from fatwheel.pipelines.stores import choose_store_spec


@named_command("prune")
@matrix_option
@channel_option
@store_option
@click.option("--index", "output", type=PATH, help="Index folder to rebuild without them.")
@click.option("--base-url", metavar="URL", default=None, help="Base URL of the index's file links.")
@click.option("--apply", "really", is_flag=True, help="Delete the releases; without this flag they are only listed.")
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    matrix: Path,
    channel: str,
    store: str | None,
    output: Path | None,
    base_url: str | None,
    really: bool,
    as_json: bool,
) -> None:
    """Entries leave the index before their releases are deleted, so that no link in the index is ever dead."""
    policy = declared_retention(matrix, channel)
    spec = choose_store_spec(store, matrix, channel)
    found, failures = prune(spec, policy, apply=really, index=output, base_url=base_url)
    if as_json:
        echo_json({
            "channel": channel, "applied": really, "kept": [r.tag for r in found.kept],
            "removed": [r.tag for r in found.expired], "failed": failures,
        })  # fmt: skip
    else:
        for release in found.expired:
            click.echo(f"{'deleted' if really else 'would delete'} {release.tag}")
        click.echo(f"{channel}: {len(found.kept)} kept, {len(found.expired)} {'' if really else 'to be '}deleted")
        if found.expired and not really:
            click.echo("nothing was deleted: run the command again with --apply")
    if failures:
        raise ReleaseIncomplete("releases that could not be deleted:\n" + "\n".join(failures), where=spec)
