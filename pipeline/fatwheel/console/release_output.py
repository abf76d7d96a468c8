"""Output of the commands that release: progress, the release record, and the error for missing assets."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import click

from fatwheel.console.github_actions import append_step_summary
from fatwheel.console.output import echo_json, echo_progress
from fatwheel.errors import ReleaseIncomplete, ReleaseRefused
from fatwheel.records.release import ReleaseRecord
from fatwheel.release.progress import Bars, CompositeProgress, Lines, workflow_commands
from fatwheel.release.request import ProgressListener
from fatwheel.release.show import markdown, table


@contextlib.contextmanager
def show_progress(journal: ProgressListener | None) -> Iterator[ProgressListener]:
    """Show progress bars in a terminal, else lines on standard error; also pass progress to the journal, if any."""
    also = (journal,) if journal else ()
    if sys.stderr.isatty() and not os.environ.get("CI"):
        with Bars() as bars:
            yield CompositeProgress(bars, *also)
    else:
        yield CompositeProgress(Lines(echo_progress), *also)


def show_release(done: ReleaseRecord, as_json: bool) -> None:
    """Print the record; on GitHub Actions, also write annotations and the step summary."""
    if as_json:
        echo_json(done)
    else:
        click.echo(table(done))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in workflow_commands(done):
            echo_progress(line)
    append_step_summary(markdown(done))


def raise_for_missing(done: ReleaseRecord, *, dry_run: bool = False) -> None:
    """Raise `ReleaseRefused` or `ReleaseIncomplete` if an expected asset was not uploaded.

    In a dry run, assets that were not sent are not missing.
    """
    missing = [a for a in done.assets if not a.settled and not (dry_run and a.outcome == "not-sent")]
    if done.refused and missing:
        raise ReleaseRefused(done.refused, where=done.store)
    if missing:
        help = "fix the assets listed above and run the same command again; only missing assets are uploaded"
        if any(asset.outcome == "conflict" for asset in missing):
            help = (
                "publish conflicting assets as a new version, or overwrite them with --replace; then run the command "
                "again, which uploads only missing assets"
            )
        raise ReleaseIncomplete(
            f"{len(missing)} of {len(done.assets)} assets were not uploaded",
            where=f"{done.store} {done.tag}",
            help=help,
        )
