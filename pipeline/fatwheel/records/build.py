"""The build record of a wheel: ``X.whl.build.json`` next to ``X.whl``."""

from __future__ import annotations

from fatwheel.digests import Digest
from fatwheel.records.base import Record
from fatwheel.records.plan import Cell
from fatwheel.targets import Target


class ToolchainRecord(Record):
    """The CUDA compiler that was used."""

    kind: str  # system, pypi, or none for a placeholder
    release: str | None  # 13.0
    nvcc: str | None  # 13.0.88
    host_compiler: str | None  # first line of `g++ --version`


class Image(Record):
    """The container image of a build: its name and the digest that was used."""

    name: str
    digest: str | None  # sha256:...


class Parallelism(Record):
    """The number of parallel compiler jobs and of nvcc threads per job, and the reason for it."""

    jobs: int
    nvcc_threads: int = 1
    reason: str = ""


class CompilerCacheUse(Record):
    """Statistics of the compiler cache. ``errors``: failed compilations and reads; ``reason``: why (not) used."""

    mode: str  # read, write
    kind: str  # local, s3 ...
    hits: int = 0
    misses: int = 0
    errors: int = 0
    reason: str = ""


class BuiltModule(Record):
    """A library in the wheel, as reported by the build command. ``seconds``: its build time."""

    name: str
    targets: list[Target] = []
    seconds: float | None = None


class ExcludedModule(Record):
    """A module that is not in this wheel, and why."""

    name: str
    reason: str


class BuildRecord(Record):
    """A wheel, its cell, and how it was built. ``slice``: the modules of a partial wheel, else null."""

    wheel: str
    bytes: int
    sha256: Digest
    cell: Cell
    engine: str  # host, docker, podman
    toolchain: ToolchainRecord
    commit: str | None
    slice: list[str] | None = None
    modules: list[BuiltModule] = []
    excluded_modules: list[ExcludedModule] = []
    image: Image | None = None
    parallel: Parallelism | None = None
    peak_memory: int | None = None  # bytes used by all processes of the build, sampled; null: unknown
    cache: CompilerCacheUse | None = None  # null: no compiler cache
    split_from: str | None = None  # the fat wheel that this wheel was split from
    placeholder: bool = False  # a placeholder wheel without code
    seconds: float | None = None  # wall-clock time of the build command
