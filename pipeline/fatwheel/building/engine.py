"""Build engines: one interface to run commands on the host, or in docker or podman containers."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fatwheel.errors import UsageError
from fatwheel.processes import Answer, Sink, Tick, run, run_group
from fatwheel.records.build import Image
from fatwheel.vocabulary import ENGINES

ANSWER = 60.0
"""Seconds after which a query of a compiler or a container engine times out."""


class Engine(Protocol):
    """Runs the commands of a build. In containers, fatwheel's folders are mounted under the same paths."""

    @property
    def name(self) -> str:
        """``host``, ``docker`` or ``podman``."""

    @property
    def arch(self) -> str:
        """The CPU architecture of its programs."""

    @property
    def image(self) -> Image | None:
        """The container image; None for the host."""

    def run(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, sink: Sink, tick: Tick | None = None
    ) -> int:
        """Run like `fatwheel.processes.run_group`; ``tick`` gets the root of the process tree, or 0 if unknown."""

    def ask(
        self, command: Sequence[str | Path], *, env: Mapping[str, str], timeout: float = ANSWER, cwd: Path | None = None
    ) -> Answer:
        """Run like `fatwheel.processes.run`, and return the exit code and the output."""

    def which(self, program: str, env: Mapping[str, str]) -> str | None:
        """Return the path of a program on the PATH of ``env``, or None."""

    def has(self, path: Path) -> bool:
        """Return whether a file or folder exists."""

    def glibc(self, env: Mapping[str, str]) -> tuple[int, int]:
        """Return the version of its glibc; (0, 0) for another C library."""


@dataclass(frozen=True)
class HostEngine:
    """Runs commands on this machine, without a container."""

    name: str = "host"
    image: Image | None = None

    @property
    def arch(self) -> str:
        """See `Engine.arch`."""
        return platform.machine()

    def run(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, sink: Sink, tick: Tick | None = None
    ) -> int:
        """See `Engine.run`."""
        return run_group(command, env=env, cwd=cwd, sink=sink, tick=tick)

    def ask(
        self, command: Sequence[str | Path], *, env: Mapping[str, str], timeout: float = ANSWER, cwd: Path | None = None
    ) -> Answer:
        """See `Engine.ask`."""
        return run(command, env=env, timeout=timeout, cwd=cwd)

    def which(self, program: str, env: Mapping[str, str]) -> str | None:
        """See `Engine.which`."""
        return shutil.which(program, path=env.get("PATH", os.defpath))

    def has(self, path: Path) -> bool:
        """See `Engine.has`."""
        return path.exists()

    def glibc(self, env: Mapping[str, str]) -> tuple[int, int]:
        """See `Engine.glibc`."""
        del env
        name, version = platform.libc_ver()
        major, _, minor = version.partition(".")
        return (int(major), int(minor.split(".", maxsplit=1)[0])) if name == "glibc" else (0, 0)


HOST = HostEngine()


@dataclass(frozen=True)
class EngineOptions:
    """The engine and the options of its containers. ``image`` replaces that of the cell."""

    name: str = "host"
    image: str | None = None
    network: str | None = None  # host, none, or the name of a network; None: the default of the engine
    volumes: tuple[str, ...] = ()  # e.g. /usr/local/cuda:/usr/local/cuda:ro

    def __post_init__(self) -> None:
        """Raise `UsageError` for an unknown engine, an invalid volume, or container options for the host."""
        if self.name not in ENGINES:
            raise UsageError(f"unknown engine '{self.name}'", help=f"choose one of: {', '.join(ENGINES)}")
        wrong = [volume for volume in self.volumes if not 2 <= len(volume.split(":")) <= 3 or volume[0] != "/"]
        if wrong:
            raise UsageError(
                f"invalid volume '{wrong[0]}'", help="use SRC:DST[:ro], e.g. /usr/local/cuda:/usr/local/cuda:ro"
            )
        if self.name == "host" and (self.image or self.network or self.volumes):
            raise UsageError(
                "--image, --network and --volume need a container engine", help="add --engine docker or --engine podman"
            )
