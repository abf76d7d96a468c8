"""`fatwheel index`: build a package index for pip and uv from the published releases of one or more stores."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import click

from fatwheel.caches import cache_root
from fatwheel.console.options import PATH, json_option, named_command, optional_matrix_option
from fatwheel.console.output import echo_json, echo_progress, echo_warning
from fatwheel.errors import UsageError, VerificationError
from fatwheel.formatting import count_of
from fatwheel.index import make_index
from fatwheel.pipelines.stores import choose_store_spec, open_stores

_SHOWN = 20  # missing wheels that are printed; index.json lists all


@named_command("index")
@click.option(
    "--store", "specs", multiple=True, metavar="STORE",
    help="Store to index; repeatable.  [default: the release channel's repository]",
)  # fmt: skip
@click.option("--output", "-o", required=True, type=PATH, help="Output folder.")
@click.option(
    "--base-url", metavar="URL", default=None, help="Base URL of the file links.  [default: the store's own URLs]"
)
@click.option(
    "--replace", multiple=True, metavar="NAME", help="Accept changed contents for this file name or glob; repeatable."
)
@optional_matrix_option
@json_option
def command(  # noqa: PLR0917  (click passes them by name)
    specs: tuple[str, ...],
    output: Path,
    base_url: str | None,
    replace: tuple[str, ...],
    matrix: Path | None,
    as_json: bool,
) -> None:
    """Exits with code 5 if files are missing from the index, and 7 if the store cannot be read."""
    gc.disable()  # thousands of entries, all of them in use until the end
    store = open_stores(specs or (choose_store_spec(None, matrix),))
    report = make_index(store, output, base_url, replace=replace, cache=_find_cache())
    for note in report.notes:
        echo_progress(note)
    for problem in report.problems:
        echo_warning(problem)
    for one in report.missing[:_SHOWN]:
        echo_progress(f"missing: {one}")
    if len(report.missing) > _SHOWN:
        echo_progress(f"missing: {len(report.missing) - _SHOWN} more, listed in index.json")
    if as_json:
        echo_json(report)
    else:
        counts = {"wheel": report.wheels, "sdist": report.sdists, "page": report.pages}
        contents = ", ".join(count_of(n, what) for what, n in counts.items() if n or what == "wheel")
        changed = f"changed: {', '.join(report.changed)}" if report.changed else "no changes"
        click.echo(f"{report.output}: {contents}; {changed}")
    if report.problems:
        raise VerificationError(
            f"{count_of(len(report.problems), 'file')} of {report.store} omitted from the index",
            help="fix the files listed above and run it again",
        )


def _find_cache() -> Path | None:
    try:
        return cache_root(os.environ)
    except UsageError as error:  # the index does not need a cache
        echo_warning(f"{error.what}; continuing without a cache")
        return None
