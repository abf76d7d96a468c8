"""Running one command with all its children: output as it comes, and nothing left running afterwards."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pipeline.errors import BuildError

# Seconds between TERM and KILL: enough for a compiler driver to remove its temporary files.
GRACE = 5.0
_LOOK = 0.2  # seconds between looks at whether the command has ended


def run_group(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    sink: Callable[[bytes], None],
    grace: float = GRACE,
) -> int:
    """Run a command in a process group of its own and return its exit status (negative: ended by that signal).

    ``sink`` gets standard output and error as they come. When the command ends, or this call is interrupted by
    anything, whatever is still in the group gets TERM, and KILL ``grace`` seconds later. Raises `BuildError` if there
    is no such program.
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
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        raise BuildError(
            f"'{command[0]}' cannot be started: {error.strerror}",
            where=str(cwd),
            remedy="check the first word of the package's command",
        ) from error
    try:
        _drain(process, sink)
        return process.wait()
    finally:
        _end(process, grace)


def _drain(process: subprocess.Popen[bytes], sink: Callable[[bytes], None]) -> None:
    """Pass output on until it ends, or the command has ended and only a child of it still holds the pipe."""
    assert process.stdout is not None  # noqa: S101  # it was started with a pipe
    with process.stdout, selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if selector.select(_LOOK):
                chunk = os.read(process.stdout.fileno(), 65536)
                if not chunk:
                    return
                sink(chunk)
            elif process.poll() is not None:
                return


def _end(process: subprocess.Popen[bytes], grace: float) -> None:
    """End what is left of the group; a second interrupt cuts the grace short."""
    try:
        if _signal(process, signal.SIGTERM):
            deadline = time.monotonic() + grace
            while time.monotonic() < deadline and _alive(process):
                time.sleep(0.05)
    finally:
        _signal(process, signal.SIGKILL)
        process.wait()


def _alive(process: subprocess.Popen[bytes]) -> bool:
    process.poll()
    return _signal(process, 0)


def _signal(process: subprocess.Popen[bytes], number: int) -> bool:
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
