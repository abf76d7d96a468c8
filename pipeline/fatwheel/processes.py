"""Running one command with all its children: its output, its ending, and nothing left running afterwards."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

# Seconds between TERM and KILL: enough for a compiler driver to remove its temporary files.
GRACE = 5.0
NOT_STARTED = 127
"""The status of a command that there is no program for, as shells have it."""
_LOOK = 0.2  # seconds between looks at whether the command has ended
_LAST_LINES = 6

Sink = Callable[[bytes], None]
Tick = Callable[[int], None]
"""Called several times a second with the process id of the command; what it raises ends the command."""


def ended(status: int | None) -> str:
    """An ending in words: ``ended with status 1``. A negative status is a signal, None a deadline."""
    if status is None:
        return "did not end in time"
    if status >= 0:
        return f"ended with status {status}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-status).name}"
    return f"was ended by signal {-status}"


@dataclass(frozen=True)
class Answer:
    """How a command ended. ``status`` is negative for a signal, None for one that was ended at its deadline."""

    status: int | None
    output: str
    errors: str

    @property
    def ended(self) -> str:
        """The ending in words: ``ended with status 1``."""
        return ended(self.status)

    @property
    def tail(self) -> str:
        """The last lines that it wrote, errors after output."""
        lines = [line.rstrip() for line in [*self.output.splitlines(), *self.errors.splitlines()] if line.strip()]
        return "\n".join(lines[-_LAST_LINES:])


def run(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str],
    timeout: float,
    cwd: Path | None = None,
    stdin: str | None = None,
) -> Answer:
    """Run a command to its end and return what it wrote; a program that is not there answers `NOT_STARTED`.

    After ``timeout`` seconds, or an interrupt, its whole group is ended, and so is what it leaves behind.
    """
    try:
        process = subprocess.Popen(
            [str(part) for part in command],
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return Answer(NOT_STARTED, "", _not_started(command, error))
    try:
        output, errors = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        _end(process, GRACE)
        output, errors = process.communicate()
        return Answer(None, output, errors)
    finally:
        _end(process, GRACE)
    return Answer(process.returncode, output, errors)


def run_group(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    sink: Sink,
    grace: float = GRACE,
    tick: Tick | None = None,
) -> int:
    """Run a command in a process group of its own and return its exit status (negative: ended by that signal).

    ``sink`` gets standard output and error as they come. When the command ends, or this call is interrupted by
    anything, whatever is still in the group gets TERM, and KILL ``grace`` seconds later. Where there is no such
    program, ``sink`` is told, and the status is `NOT_STARTED`.
    """
    try:
        process = subprocess.Popen(
            list(command),
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        sink(f"{_not_started(command, error)}\n".encode())
        return NOT_STARTED
    try:
        _drain(process, sink, tick)
        return process.wait()
    finally:
        _end(process, grace)


def _not_started(command: Sequence[str | Path], error: OSError) -> str:
    return f"'{command[0]}' cannot be started: {error.strerror}"


def _drain(process: subprocess.Popen[bytes], sink: Sink, tick: Tick | None) -> None:
    """Pass output on until it ends, or the command has ended and only a child of it still holds the pipe."""
    assert process.stdout is not None  # noqa: S101  # it was started with a pipe
    with process.stdout, selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        looked = time.monotonic()
        while True:
            if selector.select(_LOOK):
                chunk = os.read(process.stdout.fileno(), 65536)
                if not chunk:
                    break
                sink(chunk)
            elif process.poll() is not None:
                return
            if tick is not None and time.monotonic() - looked >= _LOOK:
                tick(process.pid)
                looked = time.monotonic()
    while tick is not None and process.poll() is None:  # it closed its output and works on
        tick(process.pid)
        time.sleep(_LOOK)


def _end(process: subprocess.Popen[str] | subprocess.Popen[bytes], grace: float) -> None:
    """End what is left of the group; a second interrupt cuts the grace short."""
    try:
        if _signal(process, signal.SIGTERM):
            deadline = time.monotonic() + grace
            while time.monotonic() < deadline and _alive(process):
                time.sleep(0.05)
    finally:
        _signal(process, signal.SIGKILL)
        process.wait()


def _alive(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> bool:
    process.poll()
    return _signal(process, 0)


def _signal(process: subprocess.Popen[str] | subprocess.Popen[bytes], number: int) -> bool:
    """Send a signal to the group; whether there was anyone to get it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
        return True
    return False


@contextmanager
def terminable() -> Iterator[None]:
    """Within this, TERM unwinds like Ctrl-C, so that children end and temporary files go. For the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
