"""`fatwheel index`: pages for pip and uv, and index.json, from what a store holds."""

from __future__ import annotations

from pathlib import Path

import click

from fatwheel.console.options import json_option
from fatwheel.console.output import echo_json, echo_progress
from fatwheel.console.summaries import SUMMARIES

_SHOWN = 20  # rows of what is missing; index.json has all


@click.command(help=SUMMARIES["index"])
@click.option("--store", "store_spec", required=True, metavar="STORE", help="dir:PATH or github:OWNER/REPO.")
@click.option("--output", "-o", required=True, type=click.Path(path_type=Path), help="The folder to write.")
@click.option("--base-url", metavar="URL", default=None, help="Link to URL/TAG/NAME; else to where the store is.")
@click.option(
    "--replace", multiple=True, metavar="NAME", help="A file name, or glob, whose new bytes count; repeatable."
)
@json_option
def command(store_spec: str, output: Path, base_url: str | None, replace: tuple[str, ...], as_json: bool) -> None:
    """Ends with 0, 2 (an argument), 5 (files that had to be left out; the rest is written) or 7 (the store)."""
    import gc
    import os

    from fatwheel.building.cache import cache_root
    from fatwheel.errors import VerificationError
    from fatwheel.index import make_index
    from fatwheel.stores import open_store

    gc.disable()  # thousands of rows, all of which are needed to the end
    store = open_store(store_spec, there=True)
    report = make_index(store, output, base_url, replace=replace, cache=cache_root(os.environ))
    for line in [*report.notes, *report.problems]:
        echo_progress(line)
    for one in report.missing[:_SHOWN]:
        echo_progress(f"missing: {one}")
    if len(report.missing) > _SHOWN:
        echo_progress(f"missing: {len(report.missing) - _SHOWN} more, in index.json")
    if as_json:
        echo_json(report)
    else:
        counts = {"wheel": report.wheels, "sdist": report.sdists, "page": report.pages}
        held = ", ".join(f"{n} {what}{'s' if n != 1 else ''}" for what, n in counts.items() if n or what == "wheel")
        changed = f"changed: {', '.join(report.changed)}" if report.changed else "nothing changed"
        click.echo(f"{report.output}: {held}; {changed}")
    if report.problems:
        count = len(report.problems)
        raise VerificationError(
            f"{count} file{'s' if count != 1 else ''} of {report.store} left out of the index",
            help="mend what is listed above, and run it again",
        )
