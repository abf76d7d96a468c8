"""`fatwheel status`: compare a release with its plan."""

from __future__ import annotations

from pathlib import Path

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


@named_command("status")
@tag_option()
@store_option
@plan_file_option
@optional_matrix_option
@json_option
def command(tag: str, store: str | None, plan_file: Path | None, matrix: Path | None, as_json: bool) -> None:
    """Exits with code 6 unless every planned asset is in the release, with the digest in its manifest."""
    spec = choose_store_spec(store, matrix)
    found = Inspector(open_store(spec)).look(tag, Plan.read(plan_file) if plan_file else None)
    show_release(found.record, as_json)
    if found.release is None:
        raise ReleaseIncomplete(f"no release has the tag {tag}", where=spec)
    raise_for_missing(found.record)
