"""What the commands around releases share: progress, the record for people and for Actions, and the judgement."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from fatwheel.console.github_actions import append_step_summary
from fatwheel.console.output import echo_json, echo_progress

if TYPE_CHECKING:
    from fatwheel.records.release import ReleaseRecord
    from fatwheel.release.request import ProgressListener


@contextlib.contextmanager
def shown_progress(journal: ProgressListener | None) -> Iterator[ProgressListener]:
    """Bars where a person looks on, else plain lines on standard error; and the journal, if there is one."""
    from fatwheel.release.progress import Bars, CompositeProgress, Lines

    also = (journal,) if journal else ()
    if sys.stderr.isatty() and not os.environ.get("CI"):
        with Bars() as bars:
            yield CompositeProgress(bars, *also)
    else:
        yield CompositeProgress(Lines(echo_progress), *also)


def show_release(done: ReleaseRecord, as_json: bool) -> None:
    """Print the record; on Actions also annotations and the step summary."""
    from fatwheel.release.progress import workflow_commands
    from fatwheel.release.show import markdown, table

    if as_json:
        echo_json(done)
    else:
        click.echo(table(done))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in workflow_commands(done):
            echo_progress(line)
    append_step_summary(markdown(done))


def judge_release(done: ReleaseRecord, *, dry_run: bool = False) -> None:
    """Raise if a wanted asset is not live; what a dry run only did not send is no failure."""
    from fatwheel.errors import ReleaseIncomplete, ReleaseRefused

    lacking = [a for a in done.assets if not a.settled and not (dry_run and a.outcome == "not-sent")]
    if done.refused and lacking:
        raise ReleaseRefused(done.refused, where=done.store)
    if lacking:
        help = "mend what is listed and run the same command again: only what is missing is sent"
        if any(asset.outcome == "conflict" for asset in lacking):
            help = (
                "publish what conflicts as a new version, or name it by --replace where you are sure; then run the "
                "command again: only what is missing is sent"
            )
        raise ReleaseIncomplete(
            f"{len(lacking)} of {len(done.assets)} wanted assets are not live",
            where=f"{done.store} {done.tag}",
            help=help,
        )
