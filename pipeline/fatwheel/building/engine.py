"""Where a build runs: the seam between the station and the host, docker or podman."""

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

ENGINES = ("host", "docker", "podman")
"""Every name that --engine knows."""

ANSWER = 60.0
"""Seconds that a compiler or a container engine has to say what it is."""


class Engine(Protocol):
    """A place that runs the commands of a build. All of fatwheel's folders are there under their own paths."""

    @property
    def name(self) -> str:
        """``host``, ``docker`` or ``podman``."""

    @property
    def arch(self) -> str:
        """The CPU architecture of what runs there."""

    @property
    def image(self) -> Image | None:
        """The container image; None for the host."""

    def run(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, sink: Sink, tick: Tick | None = None
    ) -> int:
        """Run to the end, as `fatwheel.processes.run_group` does; ``tick`` gets the root of the process tree, or 0."""

    def ask(
        self, command: Sequence[str | Path], *, env: Mapping[str, str], timeout: float = ANSWER, cwd: Path | None = None
    ) -> Answer:
        """Run to the end and return what was said, as `fatwheel.processes.run` does."""

    def which(self, program: str, env: Mapping[str, str]) -> str | None:
        """Where a program is, by the PATH of ``env``."""

    def has(self, path: Path) -> bool:
        """Whether there is a file or folder of that name."""

    def glibc(self, env: Mapping[str, str]) -> tuple[int, int]:
        """The version of its C library; (0, 0) if that is not glibc."""


@dataclass(frozen=True)
class HostEngine:
    """The machine itself, as it is."""

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
    """Which engine, and how its containers are started. ``image`` takes the place of the cell's."""

    name: str = "host"
    image: str | None = None
    network: str | None = None  # host, none, or a network's name; None: the engine's own default
    volumes: tuple[str, ...] = ()  # like /usr/local/cuda:/usr/local/cuda:ro

    def __post_init__(self) -> None:
        """Raise `UsageError` for what cannot be meant."""
        if self.name not in ENGINES:
            raise UsageError(f"there is no engine '{self.name}'", help=f"choose one of: {', '.join(ENGINES)}")
        wrong = [volume for volume in self.volumes if not 2 <= len(volume.split(":")) <= 3 or volume[0] != "/"]
        if wrong:
            raise UsageError(f"'{wrong[0]}' is not a volume", help="write it like /usr/local/cuda:/usr/local/cuda:ro")
        if self.name == "host" and (self.image or self.network or self.volumes):
            raise UsageError(
                "image, network and volumes are for containers", help="add --engine docker or --engine podman"
            )
