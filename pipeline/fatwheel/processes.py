"""Run one command with its child processes, and leave none of them running."""

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

GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL: enough for a compiler driver to remove its temporary files."""
NOT_STARTED = 127
"""The exit code of a command whose program was not found, as in shells."""
_POLL = 0.2  # seconds between checks of whether the command has exited
_LAST_LINES = 6

Sink = Callable[[bytes], None]
Tick = Callable[[int], None]
"""Called several times a second with the process ID of the command; an exception from it stops the command."""


def describe_exit(status: int | None) -> str:
    """Describe an exit code: ``exited with code 1``. A negative one is a signal, None a timeout."""
    if status is None:
        return "timed out"
    if status >= 0:
        return f"exited with code {status}"
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-status).name}"
    return f"was killed by signal {-status}"


@dataclass(frozen=True)
class Answer:
    """The result of a command. ``status`` is its exit code, negative for a signal, None for a timeout."""

    status: int | None
    output: str
    errors: str

    @property
    def ended(self) -> str:
        """How it ended, as a predicate: ``exited with code 1``."""
        return describe_exit(self.status)

    @property
    def tail(self) -> str:
        """The last lines of its output: standard output, then standard error."""
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
    """Run a command and return its exit code and output; `NOT_STARTED` if the program is not found.

    After ``timeout`` seconds, or an interrupt, its process group is stopped. Processes that outlive the command are
    stopped too.
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
        _stop_group(process, GRACE)
        output, errors = process.communicate()
        return Answer(None, output, errors)
    finally:
        _stop_group(process, GRACE)
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
    """Run a command in its own process group and return its exit code (negative: killed by that signal).

    ``sink`` gets standard output and standard error as they arrive. When the command exits, or an exception interrupts
    this call, the remaining processes of the group get SIGTERM, and SIGKILL ``grace`` seconds later. If the program is
    not found, ``sink`` gets a message and the exit code is `NOT_STARTED`.
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
        _stop_group(process, grace)


def _not_started(command: Sequence[str | Path], error: OSError) -> str:
    return f"cannot start '{command[0]}': {error.strerror}"


def _drain(process: subprocess.Popen[bytes], sink: Sink, tick: Tick | None) -> None:
    """Pass output to ``sink`` until it ends, or the command has exited and only a child still holds the pipe."""
    assert process.stdout is not None  # noqa: S101  # it was started with a pipe
    with process.stdout, selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        checked = time.monotonic()
        while True:
            if selector.select(_POLL):
                chunk = os.read(process.stdout.fileno(), 65536)
                if not chunk:
                    break
                sink(chunk)
            elif process.poll() is not None:
                return
            if tick is not None and time.monotonic() - checked >= _POLL:
                tick(process.pid)
                checked = time.monotonic()
    while tick is not None and process.poll() is None:  # it closed its output and is still running
        tick(process.pid)
        time.sleep(_POLL)


def _stop_group(process: subprocess.Popen[str] | subprocess.Popen[bytes], grace: float) -> None:
    """Stop the remaining processes of the group; a second interrupt skips the rest of ``grace``."""
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
    """Send a signal to the group; return whether the group still has a process."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
        return True
    return False


@contextmanager
def terminable() -> Iterator[None]:
    """Make SIGTERM raise `KeyboardInterrupt`, so that children stop and temporary files are removed (main thread)."""
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
