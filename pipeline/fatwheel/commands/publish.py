"""`fatwheel publish`: verify a draft release and publish it."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import (
    json_option,
    named_command,
    optional_matrix_option,
    plan_file_option,
    store_option,
    tag_option,
)
from fatwheel.console.release_output import raise_for_missing, show_release
from fatwheel.errors import ReleaseIncomplete
from fatwheel.pipelines.stores import choose_store_spec
from fatwheel.records.plan import Plan
from fatwheel.release.inspection import Inspector
from fatwheel.stores import open_store


@named_command("publish")
@tag_option()
@store_option
@plan_file_option
@click.option("--partial", is_flag=True, help="Publish even if planned wheels are missing.")
@optional_matrix_option
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    tag: str, store: str | None, plan_file: Path | None, partial: bool, matrix: Path | None, as_json: bool
) -> None:
    """Exits with code 6 if the release is not published or incomplete."""
    spec = choose_store_spec(store, matrix)
    plan = Plan.read(plan_file) if plan_file else None
    done = Inspector(open_store(spec)).publish(tag, plan, partial=partial)
    show_release(done, as_json)
    raise_for_missing(done)
    if not done.published:
        raise ReleaseIncomplete(f"{tag} is not published", where=spec, help="see the notes above")
