"""Watch a running build: its output, its memory, and its time limits; write diagnostics when it exceeds one."""

from __future__ import annotations

import datetime as dt
import os
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
from fatwheel.formatting import count_of, duration
from fatwheel.secret_names import redact
from fatwheel.sizes import size

SILENCE = 90 * 60.0
"""Seconds without output after which a build is killed: twice the longest compilation that was measured."""

_SAMPLE = 1.0  # seconds between samples of memory use
_LAST_LINES = 40
_WIDTH = 400


def _to_stderr(chunk: bytes) -> None:
    sys.stderr.buffer.write(chunk)
    sys.stderr.buffer.flush()


@dataclass(frozen=True)
class Limits:
    """Limits in seconds: ``silence`` without output, ``total`` for the command; None is unlimited."""

    silence: float | None = SILENCE
    total: float | None = None


@dataclass
class Watchdog:
    """Copies a build's output to ``log`` and ``show``, and raises from `tick` when the build exceeds a limit.

    ``cache_state`` returns a description of the compiler cache for the diagnostics.
    """

    limits: Limits
    log: BinaryIO
    diagnostics: Path  # the file to write when a limit is exceeded
    folders: tuple[Path, ...] = ()  # whose free disk space the diagnostics list
    cache_state: Callable[[], str] = str
    mark: str = ""  # an environment variable, NAME=VALUE, of every process of the build
    show: Callable[[bytes], None] = _to_stderr
    clock: Callable[[], float] = time.monotonic
    peak: int = 0  # bytes
    _started: float = 0.0
    _last_output: float = 0.0
    _sampled: float = 0.0
    _tail: deque[str] = field(default_factory=lambda: deque(maxlen=_LAST_LINES))

    def start(self) -> None:
        """Start the clock of both limits."""
        self._started = self._last_output = self.clock()

    def sink(self, chunk: bytes) -> None:
        """Take output of the command."""
        self._last_output = self.clock()
        self._tail.extend(line[:_WIDTH] for line in chunk.decode(errors="replace").splitlines())
        self.log.write(chunk)
        self.log.flush()
        self.show(chunk)

    def tick(self, root: int) -> None:
        """Sample the processes below ``root``. Raises `BuildTimeout` if a limit is exceeded."""
        now = self.clock()
        if now - self._sampled >= _SAMPLE:
            self._sampled = now
            self.peak = max(self.peak, memory(tree(root, self.mark)))
        silent, spent = now - self._last_output, now - self._started
        if self.limits.silence is not None and silent > self.limits.silence:
            self._fail(root, f"no output for {duration(silent)}", "--silence")
        if self.limits.total is not None and spent > self.limits.total:
            self._fail(root, f"it ran for {duration(spent)}", "--time-limit")

    def _fail(self, root: int, what: str, option: str) -> None:
        found = tree(root, self.mark)
        try:
            self.diagnostics.parent.mkdir(parents=True, exist_ok=True)
            self.diagnostics.write_text(redact(self._describe(what, found), os.environ), encoding="utf-8")
            where = str(self.diagnostics)
        except OSError as error:
            where = f"not written ({error.strerror})"
        running = f"; running at the time: {_summary(found)}" if found else ""
        raise BuildTimeout(
            f"build killed: {what}{running}",
            help=f"diagnostics: {where}; if the build needs more time, raise {option}",
        )

    def _describe(self, what: str, found: list[Process]) -> str:
        spent, when = duration(self.clock() - self._started), f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M:%S} UTC"
        parts = [
            f"Build killed: {what}. Total time {spent}, at {when}.",
            _section("processes", _process_table(found)),
            _section("memory", f"peak of the build: {size(self.peak)}\n{_lines('/proc/meminfo', 5)}"),
            _section("load", f"{_lines('/proc/loadavg', 1)}\n{_lines('/proc/pressure/memory', 2)}"),
            _section("disks", "\n".join(map(_free_space, self.folders))),
            _section("compiler cache", self.cache_state()),
            _section(f"last {len(self._tail)} lines of output", "\n".join(self._tail)),
        ]
        return "\n".join(parts)


def _section(title: str, text: str) -> str:
    return f"\n== {title} ==\n{text.strip() or '(none)'}"


def _process_table(found: list[Process]) -> str:
    head = f"{'pid':>8} {'parent':>8} state {'cpu s':>8} {'MiB':>7}  waiting in, command"
    rows = [
        f"{one.pid:>8} {one.parent:>8} {one.state:<5} {one.seconds:>8.1f} {one.resident / 2**20:>7.0f}  "
        f"{one.waits or '-'}  {one.command[:_WIDTH]}"
        for one in found
    ]
    return "\n".join([head, *rows]) if rows else "(not visible from here)"


def _summary(found: list[Process]) -> str:
    newest = max(found, key=lambda one: one.pid)
    return f"{count_of(len(found), 'process', 'processes')}, the newest is {newest.command[:120]}"


def _lines(path: str, count: int) -> str:
    try:
        return "\n".join(Path(path).read_text(encoding="utf-8").splitlines()[:count])
    except OSError:
        return ""


def _free_space(folder: Path) -> str:
    existing = next((place for place in (folder, *folder.parents) if place.exists()), Path("/"))
    usage = shutil.disk_usage(existing)
    return f"{folder}: {size(usage.free)} of {size(usage.total)} free"
