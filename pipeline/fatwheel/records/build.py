"""What a build says of the wheel it made: ``X.whl.build.json`` beside ``X.whl``."""

from __future__ import annotations

from fatwheel.digests import Digest
from fatwheel.records.base import Record
from fatwheel.records.plan import Cell
from fatwheel.targets import Target


class Toolchain(Record):
    """The CUDA compiler that was used."""

    kind: str  # system, pypi, or none for a placeholder
    release: str | None  # 13.0
    nvcc: str | None  # 13.0.88
    host_compiler: str | None  # first line of `g++ --version`


class Image(Record):
    """The container image that a build ran in, as it was named and as it was."""

    name: str
    digest: str | None  # sha256:...


class Parallelism(Record):
    """How many compilers ran side by side, with how many threads each, and why so many."""

    jobs: int
    nvcc_threads: int = 1
    reason: str = ""


class CompilerCacheUse(Record):
    """What a compiler cache did. ``errors``: compilations and reads of it that failed; ``reason``: why, or why not."""

    mode: str  # read, write
    kind: str  # local, s3 ...
    hits: int = 0
    misses: int = 0
    errors: int = 0
    reason: str = ""


class BuiltModule(Record):
    """One library in the wheel, as the build command reported it."""

    name: str
    targets: list[Target] = []
    seconds: float | None = None


class LeftOut(Record):
    """A module that this wheel does not hold, and why."""

    name: str
    reason: str


class BuildRecord(Record):
    """The wheel, its cell, and how it came about. ``slice``: the modules of a partial build; null for a whole one."""

    wheel: str
    bytes: int
    sha256: Digest
    cell: Cell
    engine: str  # host, docker, podman
    toolchain: Toolchain
    commit: str | None
    slice: list[str] | None = None
    modules: list[BuiltModule] = []
    left_out: list[LeftOut] = []
    image: Image | None = None
    parallel: Parallelism | None = None
    peak_memory: int | None = None  # bytes that the build's processes took together, by samples; null: not seen
    cache: CompilerCacheUse | None = None  # null: none was used
    split_from: str | None = None  # the wheel for all targets that this one was divided out of
    placeholder: bool = False  # made by a fake build: no code in it
    seconds: float | None = None  # wall time of the build command
