"""The build stage: build one cell into a wheel with its build record, or raise the reason."""

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
from fatwheel.building.cache import output_folder
from fatwheel.building.containers import check_platform
from fatwheel.building.engine import EngineOptions
from fatwheel.building.environment import base_python
from fatwheel.building.images import Client
from fatwheel.building.job import BuildJob, BuildOptions, BuildOverrides
from fatwheel.building.product import publish, shim_package
from fatwheel.building.variables import compression_flag
from fatwheel.declaration import Declaration
from fatwheel.declaration.model import Package
from fatwheel.errors import BuildError, PipelineError
from fatwheel.processes import terminable
from fatwheel.records.build import BuildRecord
from fatwheel.records.plan import Cell
from fatwheel.retry import Notify


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

    ``modules`` selects the modules of a partial wheel. ``fake_size`` makes a placeholder of that many bytes without a
    compiler. ``notify`` gets lines of progress; by default they go to standard error. After a failure ``out_dir`` is
    unchanged, no process is left running, and the output of the build command is in fatwheel's cache. Raises
    `BuildError`, `BuildTimeout`, `VerificationError`, and `UsageError` for invalid arguments.
    """
    choice = engine if isinstance(engine, EngineOptions) else EngineOptions(engine)
    declared = declaration.package(cell.package)
    package = shim_package(declared) if cell.shim else declared
    job = BuildJob(declaration, cell, package, environ or os.environ, notify or _to_stderr)
    with terminable(), _staging_folder(out_dir) as staging:
        if fake_size is not None:
            built = job.placeholder(staging, fake_size)
        else:
            _check_cell(cell, package, choice)
            selected = list(modules) if modules and not cell.shim else None
            named = toolchains.parse_choice(toolchain)
            built = job.build(staging, BuildOptions(choice, named, selected, tuning or BuildOverrides()))
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
    """Return why this machine cannot build a cell, or None if it can. Downloads and changes nothing.

    The contents of container images are not checked.
    """
    found = environ or os.environ
    try:
        choice = engine if isinstance(engine, EngineOptions) else EngineOptions(engine)
        named = toolchains.parse_choice(toolchain)
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
    return toolchains.explain_unavailable(named, cell, found)


def _check_cell(cell: Cell, package: Package, choice: EngineOptions) -> None:
    """Raise `BuildError` for a cell of another CPU architecture that this machine cannot build."""
    here = platform.machine()
    if cell.arch is None or cell.arch == here:
        return
    if choice.name != "host":
        check_platform(cell.arch)
        return
    if package.build.cross:
        return
    machine = f"build it on {cell.runner}" if cell.runner else f"build it on a machine with {cell.arch}"
    raise BuildError(
        f"the cell is for {cell.arch}, but this machine is {here}",
        where=cell.id,
        help=f"{machine}; if its command supports cross compilation, declare `cross: true`",
    )


@contextmanager
def _staging_folder(out_dir: Path) -> Iterator[Path]:
    """Yield a hidden folder in ``out_dir``, so that a finished wheel only has to be renamed; remove it at the end."""
    with output_folder(out_dir):
        staging = Path(tempfile.mkdtemp(prefix=".building-", dir=out_dir))
        try:
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201  # progress, without a command that prints it
