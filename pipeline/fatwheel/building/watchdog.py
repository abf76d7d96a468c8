"""Watching a build run: its output, its memory, and the limits after which it is ended with a look at why."""

from __future__ import annotations

import datetime as dt
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from fatwheel.building.process_tree import Process, memory, tree
from fatwheel.errors import BuildTimeout

SILENCE = 90 * 60.0
"""Seconds without output after which a build is ended; the longest FlashInfer module takes half of that."""

_SAMPLE = 1.0  # seconds between looks at the memory
_LAST_LINES = 40
_WIDTH = 400


def _to_stderr(chunk: bytes) -> None:
    sys.stderr.buffer.write(chunk)
    sys.stderr.buffer.flush()


@dataclass(frozen=True)
class Limits:
    """Seconds: ``silence`` without any output, ``total`` for the whole command; None is no limit."""

    silence: float | None = SILENCE
    total: float | None = None


@dataclass
class Watchdog:
    """Passes a build's output on, to ``log`` and ``show``, and raises from `tick` when a limit is over.

    ``more`` says what else is known then: the state of the compiler cache.
    """

    limits: Limits
    log: BinaryIO
    place: Path  # where the diagnostics go
    folders: tuple[Path, ...] = ()  # whose disks may be full
    more: Callable[[], str] = str
    mark: str = ""  # a variable, NAME=VALUE, that every process of the build has
    show: Callable[[bytes], None] = _to_stderr
    clock: Callable[[], float] = time.monotonic
    peak: int = 0  # bytes
    _began: float = 0.0
    _heard: float = 0.0
    _sampled: float = 0.0
    _tail: deque[str] = field(default_factory=lambda: deque(maxlen=_LAST_LINES))

    def begin(self) -> None:
        """The command starts now."""
        self._began = self._heard = self.clock()

    def sink(self, chunk: bytes) -> None:
        """What the command said."""
        self._heard = self.clock()
        self._tail.extend(line[:_WIDTH] for line in chunk.decode(errors="replace").splitlines())
        self.log.write(chunk)
        self.log.flush()
        self.show(chunk)

    def tick(self, root: int) -> None:
        """Look at the processes below ``root``. Raises `BuildTimeout`."""
        now = self.clock()
        if now - self._sampled >= _SAMPLE:
            self._sampled = now
            self.peak = max(self.peak, memory(tree(root, self.mark)))
        silent, spent = now - self._heard, now - self._began
        if self.limits.silence is not None and silent > self.limits.silence:
            self._end(root, f"has printed nothing for {_spoken(silent)}", "--silence")
        if self.limits.total is not None and spent > self.limits.total:
            self._end(root, f"has run for {_spoken(spent)}", "--time-limit")

    def _end(self, root: int, what: str, option: str) -> None:
        found = tree(root, self.mark)
        try:
            self.place.parent.mkdir(parents=True, exist_ok=True)
            self.place.write_text(self._diagnostics(what, found), encoding="utf-8")
            where = str(self.place)
        except OSError as error:
            where = f"could not be written ({error.strerror})"
        last = f"; it ran {_shown_short(found)}" if found else ""
        raise BuildTimeout(
            f"the build {what} and was ended{last}",
            help=f"see the diagnostics: {where}; if it only needs longer, raise {option}",
        )

    def _diagnostics(self, what: str, found: list[Process]) -> str:
        spent, when = _spoken(self.clock() - self._began), f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M:%S} UTC"
        parts = [
            f"The build {what}, after {spent} in all, at {when}.",
            _section("processes, by parent", _listed(found)),
            _section("memory", f"peak of the build: {self.peak / 2**20:.0f} MiB\n{_lines('/proc/meminfo', 5)}"),
            _section("load", f"{_lines('/proc/loadavg', 1)}\n{_lines('/proc/pressure/memory', 2)}"),
            _section("disks", "\n".join(map(_disk, self.folders))),
            _section("compiler cache", self.more()),
            _section(f"last {len(self._tail)} lines of output", "\n".join(self._tail)),
        ]
        return "\n".join(parts)


def _section(title: str, text: str) -> str:
    return f"\n== {title} ==\n{text.strip() or '(nothing)'}"


def _listed(found: list[Process]) -> str:
    head = f"{'pid':>8} {'parent':>8} state {'cpu s':>8} {'MiB':>7}  waits in, command"
    rows = [
        f"{one.pid:>8} {one.parent:>8} {one.state:<5} {one.seconds:>8.1f} {one.resident / 2**20:>7.0f}  "
        f"{one.waits or '-'}  {one.command[:_WIDTH]}"
        for one in found
    ]
    return "\n".join([head, *rows]) if rows else "they cannot be seen from here"


def _shown_short(found: list[Process]) -> str:
    busy = max(found, key=lambda one: (one.pid,))
    return f"{len(found)} processes, the last of them: {busy.command[:120]}"


def _lines(path: str, count: int) -> str:
    try:
        return "\n".join(Path(path).read_text(encoding="utf-8").splitlines()[:count])
    except OSError:
        return ""


def _disk(folder: Path) -> str:
    there = next((place for place in (folder, *folder.parents) if place.exists()), Path("/"))
    usage = shutil.disk_usage(there)
    return f"{folder}: {usage.free / 1e9:.1f} GB of {usage.total / 1e9:.1f} GB free"


def _spoken(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
