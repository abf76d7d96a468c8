"""`fatwheel publish`: finish a draft that was held."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import json_option
from fatwheel.console.release_output import judge_release, show_release
from fatwheel.console.summaries import SUMMARIES


@click.command(help=SUMMARIES["publish"])
@click.argument("tag")
@click.option("--store", required=True, metavar="STORE", help="dir:PATH or github:OWNER/REPO.")
@click.option(
    "--plan", "plan_file", type=click.Path(path_type=Path), help="A plan's JSON; by default the manifest's own."
)
@click.option("--partial", is_flag=True, help="Publish it although wheels of its plan are missing.")
@json_option
def command(tag: str, store: str, plan_file: Path | None, partial: bool, as_json: bool) -> None:
    """Ends with 6 if it is not published, or lacks something."""
    from fatwheel.errors import ReleaseIncomplete
    from fatwheel.records.plan import Plan
    from fatwheel.release.inspection import Inspector
    from fatwheel.stores import open_store

    plan = Plan.read(plan_file) if plan_file else None
    done = Inspector(open_store(store)).publish(tag, plan, partial=partial)
    show_release(done, as_json)
    judge_release(done)
    if not done.published:
        raise ReleaseIncomplete(f"{tag} is not published", where=store, help="see the notes above")
