"""The build station: one cell becomes one wheel and its record, or nothing and an error that says why."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from fatwheel.building import toolchain as toolchains
from fatwheel.building.cache import Notify, disk_errors
from fatwheel.building.containers import check_platform
from fatwheel.building.engine import EngineOptions
from fatwheel.building.environment import base_python
from fatwheel.building.images import Client
from fatwheel.building.job import BuildOptions, BuildOverrides, Job
from fatwheel.building.product import publish, shim_package
from fatwheel.building.variables import compression_flag
from fatwheel.declaration import Declaration
from fatwheel.declaration.model import Package
from fatwheel.errors import BuildError, PipelineError
from fatwheel.processes import terminable
from fatwheel.records.build import BuildRecord
from fatwheel.records.plan import Cell


def build_cell(
    declaration: Declaration,
    cell: Cell,
    out_dir: Path,
    *,
    engine: str | EngineOptions = "host",
    toolchain: str = "auto",
    modules: Sequence[str] | None = None,
    fake_size: int | None = None,
    tuning: BuildOverrides | None = None,
    environ: Mapping[str, str] | None = None,
    notify: Notify | None = None,
) -> BuildRecord:
    """Build one cell into ``out_dir``: ``X.whl``, verified, and then ``X.whl.build.json``.

    ``modules`` makes a slice; ``fake_size`` a placeholder of so many bytes, with no compiler. ``notify`` gets lines of
    progress, by default on standard error. Whatever fails, ``out_dir`` holds what it held before, no process is left
    running, and the output of the build command is kept in fatwheel's cache. Raises `BuildError`, `BuildTimeout`,
    `VerificationError`, and `UsageError` for arguments that cannot be used.
    """
    choice = engine if isinstance(engine, EngineOptions) else EngineOptions(engine)
    declared = declaration.package(cell.package)
    package = shim_package(declared) if cell.shim else declared
    job = Job(declaration, cell, package, environ or os.environ, notify or _to_stderr)
    with terminable(), _staging(out_dir) as staging:
        if fake_size is not None:
            built = job.placeholder(staging, fake_size)
        else:
            _check_cell(cell, package, choice)
            slice_of = list(modules) if modules and not cell.shim else None
            named = toolchains.choice_named(toolchain)
            built = job.build(staging, BuildOptions(choice, named, slice_of, tuning or BuildOverrides()))
        publish(built.wheel, built.record, out_dir, built.statistics)
    return built.record


def can_build(
    declaration: Declaration,
    cell: Cell,
    *,
    engine: str | EngineOptions = "host",
    toolchain: str = "auto",
    environ: Mapping[str, str] | None = None,
) -> str | None:
    """Why this machine cannot build a cell, or None if it can. Downloads and changes nothing.

    What is in a container's image is not looked at.
    """
    found = environ or os.environ
    try:
        choice = engine if isinstance(engine, EngineOptions) else EngineOptions(engine)
        named = toolchains.choice_named(toolchain)
        _check_cell(cell, declaration.package(cell.package), choice)
        compression_flag(declaration, cell)
        if choice.name == "host":
            base_python(cell, found)
        else:
            Client(choice.name, found).check()
            if cell.toolkit:
                toolchains.check_targets(cell)
    except PipelineError as error:
        return error.what
    if cell.toolkit is None or cell.shim or choice.name != "host":
        return None
    return toolchains.reason_against(named, cell, found)


def _check_cell(cell: Cell, package: Package, choice: EngineOptions) -> None:
    """Raise `BuildError` for a cell of another CPU that nothing here can build."""
    here = platform.machine()
    if cell.arch is None or cell.arch == here:
        return
    if choice.name != "host":
        check_platform(cell.arch)
        return
    if package.build.cross:
        return
    article = "an" if cell.arch[0] in "aeioux" else "a"
    machine = f"build it on {cell.runner or f'{article} {cell.arch} machine'}"
    raise BuildError(
        f"needs {article} {cell.arch} machine, and this one is {here}",
        where=cell.id,
        help=f"{machine}; if its command can use a cross compiler, declare `cross: true`",
    )


@contextmanager
def _staging(out_dir: Path) -> Iterator[Path]:
    """A hidden folder in ``out_dir``, so that a finished wheel only has to be renamed; gone at the end."""
    with disk_errors(out_dir, "give another folder"):
        made = not out_dir.exists()
        out_dir.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".building-", dir=out_dir))
        try:
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            if made and not any(out_dir.iterdir()):
                out_dir.rmdir()


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201  # progress, where no command shows it
