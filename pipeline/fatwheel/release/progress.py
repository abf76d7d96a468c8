"""Progress of a release: bars on a terminal, plain lines in CI."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from fatwheel.clock import Clock
from fatwheel.records.release import AssetRecord, HashedFile, ReleaseRecord
from fatwheel.release.request import ProgressListener
from fatwheel.release.show import shorten
from fatwheel.sizes import size as words

if TYPE_CHECKING:
    from rich.progress import TaskID

QUIET = 30.0
"""Seconds between two lines about the same upload."""


class CompositeProgress:
    """Forwards all events to several listeners."""

    def __init__(self, *progress: ProgressListener) -> None:
        self._all = progress

    def say(self, text: str) -> None:
        """Forward."""
        for one in self._all:
            one.say(text)

    def hashed(self, file: HashedFile) -> None:
        """Forward."""
        for one in self._all:
            one.hashed(file)

    def opened(self, release_id: str) -> None:
        """Forward."""
        for one in self._all:
            one.opened(release_id)

    def sent(self, name: str, taken: int, size: int) -> None:
        """Forward."""
        for one in self._all:
            one.sent(name, taken, size)

    def settled(self, record: AssetRecord) -> None:
        """Forward."""
        for one in self._all:
            one.settled(record)


class Lines:
    """Prints a line for each finished asset and, every `QUIET` seconds, for each upload in progress."""

    def __init__(self, write: Callable[[str], None], clock: Clock | None = None) -> None:
        self._write = write
        self._clock = clock or Clock()
        self._reported: dict[str, float] = {}
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        """Print the line."""
        self._write(text)

    def hashed(self, file: HashedFile) -> None:
        """Ignore."""

    def opened(self, release_id: str) -> None:
        """Ignore."""

    def sent(self, name: str, taken: int, size: int) -> None:
        """Print the progress, at most every `QUIET` seconds."""
        now = self._clock.monotonic()
        with self._lock:
            if now - self._reported.setdefault(name, now) < QUIET:
                return
            self._reported[name] = now
        self._write(f"uploading {name}: {words(taken)} of {words(size)}")

    def settled(self, record: AssetRecord) -> None:
        """Print the outcome."""
        reason = f": {record.reason}" if record.reason else ""
        tries = f", {record.attempts} attempts" if record.attempts > 1 else ""
        self._write(
            f"{record.outcome} {record.name} ({words(record.size) if record.size else 'no bytes'}{tries}){reason}"
        )


class Bars:
    """Shows a progress bar for each upload. Use it as a context manager."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def say(self, text: str) -> None:
        """Print the line above the bars."""
        self._bars.console.print(text, markup=False, highlight=False)

    def hashed(self, file: HashedFile) -> None:
        """Ignore."""

    def opened(self, release_id: str) -> None:
        """Ignore."""

    def sent(self, name: str, taken: int, size: int) -> None:
        """Update the bar of the asset."""
        with self._lock:
            if name not in self._tasks:
                self._tasks[name] = self._bars.add_task(shorten(name, 32), total=size)
            self._bars.update(self._tasks[name], completed=taken)

    def settled(self, record: AssetRecord) -> None:
        """Remove the bar of the asset, and print its outcome."""
        with self._lock:
            task = self._tasks.pop(record.name, None)
            if task is not None:
                self._bars.remove_task(task)
        self.say(f"{record.outcome:<9} {shorten(record.name, 60)}")


def escape(text: str, *, value: bool = False) -> str:
    """Escape text for a workflow command; ``value`` for text in the properties of the command."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if value else text


def workflow_commands(record: ReleaseRecord) -> list[str]:
    """Return one workflow command for each asset that is not in the release."""
    return [
        f"::error title={escape(f'{asset.outcome}: {asset.name}', value=True)}::{escape(asset.reason or asset.outcome)}"
        for asset in record.assets
        if not asset.settled
    ]
