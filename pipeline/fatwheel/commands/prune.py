"""`fatwheel prune`: apply a channel's retention to its releases, their tags and their rows of the index."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import channel_option, json_option, matrix_option
from fatwheel.console.output import echo_json
from fatwheel.console.summaries import SUMMARIES


@click.command(help=SUMMARIES["prune"])
@matrix_option
@channel_option
@click.option("--store", required=True, metavar="STORE", help="dir:PATH or github:OWNER/REPO.")
@click.option("--index", "output", type=click.Path(path_type=Path), help="The index to write anew without them.")
@click.option("--base-url", metavar="URL", default=None, help="For the index, as in `fatwheel index`.")
@click.option("--apply", "really", is_flag=True, help="Do it; without this it is only said.")
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    matrix: Path,
    channel: str,
    store: str,
    output: Path | None,
    base_url: str | None,
    really: bool,
    as_json: bool,
) -> None:
    """First their rows leave the index, then they go: nobody is ever sent to what is gone."""
    from fatwheel.declaration import load
    from fatwheel.errors import ReleaseIncomplete, ReleaseRefused, UsageError
    from fatwheel.index import make_index
    from fatwheel.release.inspection import Inspector
    from fatwheel.release.retention import RetentionPolicy, find_expired, remove
    from fatwheel.stores import open_store
    from fatwheel.stores.store_errors import StoreFailure

    declared = {str(name): value for name, value in load(matrix).channels.items()}
    if channel not in declared or declared[channel].retention is None:
        others = [f"-c {name}" for name, one in declared.items() if one.retention is not None]
        help = f"{' or '.join(others)} has one" if others else "add retention to it"
        raise UsageError(f"the channel '{channel}' has no retention", where=str(matrix), help=help)
    kept = declared[channel].retention
    bounds = (kept.releases, kept.days) if kept else (None, None)
    keep = RetentionPolicy(declared[channel].tag, *bounds, nightly=channel == "nightly")
    opened = open_store(store, there=True)
    inspector = Inspector(opened)
    try:
        found = find_expired(inspector.counter.call(opened.releases), keep, inspector.clock.wall())
    except StoreFailure as failure:
        raise ReleaseRefused(failure.what, where=store, help=failure.help) from failure
    failures: list[str] = []
    if really and found.going:
        if output:
            make_index(opened.without(frozenset(release.id for release in found.going)), output, base_url)
        failures = remove(inspector, found.going)
    if as_json:
        echo_json({
            "channel": channel, "applied": really, "kept": [r.tag for r in found.kept],
            "removed": [r.tag for r in found.going], "failed": failures,
        })  # fmt: skip
    else:
        for release in found.going:
            click.echo(f"{'removed' if really else 'would remove'} {release.tag}")
        click.echo(f"{channel}: {len(found.kept)} kept, {len(found.going)} {'gone' if really else 'would go'}")
        if found.going and not really:
            click.echo("nothing was changed: run it again with --apply")
    if failures:
        raise ReleaseIncomplete("not all could be removed:\n" + "\n".join(failures), where=store)
