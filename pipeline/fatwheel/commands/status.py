"""`fatwheel status`: compare a release with its plan."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import json_option
from fatwheel.console.release_output import judge_release, show_release
from fatwheel.console.summaries import SUMMARIES


@click.command(help=SUMMARIES["status"])
@click.argument("tag")
@click.option("--store", required=True, metavar="STORE", help="dir:PATH or github:OWNER/REPO.")
@click.option(
    "--plan", "plan_file", type=click.Path(path_type=Path), help="A plan's JSON; by default the manifest's own."
)
@json_option
def command(tag: str, store: str, plan_file: Path | None, as_json: bool) -> None:
    """Ends with 0 if all that is planned is live and as its manifest says, else with 6."""
    from fatwheel.errors import ReleaseIncomplete
    from fatwheel.records.plan import Plan
    from fatwheel.release.inspection import Inspector
    from fatwheel.stores import open_store

    found = Inspector(open_store(store)).look(tag, Plan.read(plan_file) if plan_file else None)
    show_release(found.record, as_json)
    if found.release is None:
        raise ReleaseIncomplete(f"there is no release of {tag}", where=store)
    judge_release(found.record)
