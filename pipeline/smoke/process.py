"""Running one command of a test to its end or its deadline, with nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LAST_LINES = 6


@dataclass(frozen=True)
class Answer:
    """How a command ended. ``status`` is negative for a signal, None for one that was ended at its deadline."""

    status: int | None
    output: str
    errors: str

    @property
    def ended(self) -> str:
        """The ending in words: ``ended with status 1``."""
        if self.status is None:
            return "did not end in time"
        if self.status >= 0:
            return f"ended with status {self.status}"
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-self.status).name}"
        return f"was ended by signal {-self.status}"

    @property
    def tail(self) -> str:
        """The last lines that it wrote, errors after output."""
        lines = [line.rstrip() for line in [*self.output.splitlines(), *self.errors.splitlines()] if line.strip()]
        return "\n".join(lines[-_LAST_LINES:])


def run(
    command: Sequence[str | Path], *, env: Mapping[str, str], cwd: Path, timeout: float, stdin: str | None = None
) -> Answer:
    """Run a command in a process group of its own; after ``timeout`` seconds, or an interrupt, the group is killed."""
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
        return Answer(127, "", f"'{command[0]}' cannot be started: {error.strerror}")
    try:
        output, errors = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        _kill(process)
        output, errors = process.communicate()
        return Answer(None, output, errors)
    finally:
        _kill(process)
        process.wait()
    return Answer(process.returncode, output, errors)


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
