"""What the commands around releases share: progress, the record for people and for Actions, and the judgement."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.commands._io import echo_json, say

if TYPE_CHECKING:
    from pipeline.records.release import ReleaseRecord
    from pipeline.release.request import Progress


@contextlib.contextmanager
def shown_progress(journal: Progress | None) -> Iterator[Progress]:
    """Bars where a person looks on, else plain lines on standard error; and the journal, if there is one."""
    from pipeline.release.progress import Bars, Lines, Several

    also = (journal,) if journal else ()
    if sys.stderr.isatty() and not os.environ.get("CI"):
        with Bars() as bars:
            yield Several(bars, *also)
    else:
        yield Several(Lines(say), *also)


def show_release(done: ReleaseRecord, as_json: bool) -> None:
    """Print the record; on Actions also annotations and the step summary."""
    from pipeline.release.progress import workflow_commands
    from pipeline.release.show import markdown, table

    if as_json:
        echo_json(done)
    else:
        click.echo(table(done))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in workflow_commands(done):
            say(line)
    if place := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(place).open("a", encoding="utf-8") as file:
                file.write(markdown(done))
        except OSError as error:
            say(f"the step summary could not be written: {error.strerror}")


def judge_release(done: ReleaseRecord, *, dry_run: bool = False) -> None:
    """Raise if a wanted asset is not live; what a dry run only did not send is no failure."""
    from pipeline.errors import ReleaseIncomplete, ReleaseRefused

    lacking = [a for a in done.assets if not a.settled and not (dry_run and a.outcome == "not-sent")]
    if done.refused and lacking:
        raise ReleaseRefused(done.refused, where=done.store)
    if lacking:
        remedy = "mend what is listed and run the same command again: only what is missing is sent"
        if any(asset.outcome == "conflict" for asset in lacking):
            remedy = (
                "publish what conflicts as a new version, or name it by --replace where you are sure; then run the "
                "command again: only what is missing is sent"
            )
        raise ReleaseIncomplete(
            f"{len(lacking)} of {len(done.assets)} wanted assets are not live",
            where=f"{done.store} {done.tag}",
            remedy=remedy,
        )
