"""`fatwheel index`: pages for pip and uv, and index.json, from what a store holds."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.commands._io import echo_json, json_option, say


@click.command(help="Write the index of what a store's published releases hold.")
@click.option("--store", "store_spec", required=True, metavar="STORE", help="dir:PATH or github:OWNER/REPO.")
@click.option("--output", "-o", required=True, type=click.Path(path_type=Path), help="The folder to write.")
@click.option("--base-url", metavar="URL", default=None, help="Link to URL/TAG/NAME; else to where the store is.")
@json_option
def command(store_spec: str, output: Path, base_url: str | None, as_json: bool) -> None:
    """Ends with 0, 2 (an argument), 5 (files that had to be left out; the rest is written) or 7 (the store)."""
    from pipeline.errors import VerificationError
    from pipeline.index import make_index
    from pipeline.stores import open_store

    report = make_index(open_store(store_spec), output, base_url)
    for line in [*report.notes, *report.problems]:
        say(line)
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
            remedy="mend what is listed above, and run it again",
        )
