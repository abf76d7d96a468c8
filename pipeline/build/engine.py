"""Where a build command runs: the seam between the station and the host, docker or podman."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pipeline.errors import UsageError
from pipeline.processes import run_group


class Engine(Protocol):
    """Something that runs one command of a build."""

    name: str

    def run(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path) -> int:
        """Run to the end; its output goes to standard error and to ``log``. The exit status; negative for a signal.

        However this ends, nothing of the command is left running.
        """


class HostEngine:
    """The machine itself, as it is."""

    name = "host"

    def run(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path) -> int:
        """See `Engine.run`."""
        with open(log, "ab") as file:

            def sink(chunk: bytes) -> None:
                file.write(chunk)
                file.flush()
                sys.stderr.buffer.write(chunk)
                sys.stderr.buffer.flush()

            return run_group(command, env=env, cwd=cwd, sink=sink)


# Every name that --engine knows. One that maps to None is not in this version.
ENGINES: dict[str, Callable[[], Engine] | None] = {"host": HostEngine, "docker": None, "podman": None}


def engine_named(name: str) -> Engine:
    """The engine of that name. Raises `UsageError` for one that is unknown or not in this version."""
    if name not in ENGINES:
        raise UsageError(f"there is no engine '{name}'", remedy=f"choose one of: {', '.join(ENGINES)}")
    make = ENGINES[name]
    if make is None:
        able = ", ".join(known for known, maker in ENGINES.items() if maker)
        raise UsageError(
            f"this version of fatwheel does not run builds in {name} yet",
            remedy=f"use --engine {able}; inside a container of your own, that is the container",
        )
    return make()
