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

from pipeline.build import toolchain as toolchains
from pipeline.build.cache import Notify, disk_errors
from pipeline.build.engine import engine_named
from pipeline.build.environment import base_python
from pipeline.build.job import Job, Wanted
from pipeline.build.product import publish
from pipeline.build.variables import compression_flag
from pipeline.declaration import Declaration
from pipeline.errors import BuildError, PipelineError
from pipeline.processes import terminable
from pipeline.records.build import BuildRecord
from pipeline.records.plan import Cell


def build_cell(
    declaration: Declaration,
    cell: Cell,
    out_dir: Path,
    *,
    engine: str = "host",
    toolchain: str = "auto",
    modules: Sequence[str] | None = None,
    fake_size: int | None = None,
    environ: Mapping[str, str] | None = None,
    notify: Notify | None = None,
) -> BuildRecord:
    """Build one cell into ``out_dir``: ``X.whl``, verified, and then ``X.whl.build.json``.

    ``modules`` makes a slice; ``fake_size`` a placeholder of so many bytes, with no compiler. ``notify`` gets lines of
    progress, by default on standard error. Whatever fails, ``out_dir`` holds what it held before, no process is left
    running, and the output of the build command is kept in fatwheel's cache. Raises `BuildError`, `VerificationError`,
    and `UsageError` for arguments that cannot be used.
    """
    job = Job(declaration, cell, declaration.package(cell.package), environ or os.environ, notify or _to_stderr)
    with terminable(), _staging(out_dir) as staging:
        if fake_size is not None:
            wheel, record = job.placeholder(staging, fake_size)
        else:
            _check_cell(cell)
            slice_of = list(modules) if modules else None
            wanted = Wanted(engine_named(engine), toolchains.choice_named(toolchain), slice_of)
            wheel, record = job.build(staging, wanted)
        publish(wheel, record, out_dir)
    return record


def can_build(
    declaration: Declaration,
    cell: Cell,
    *,
    engine: str = "host",
    toolchain: str = "auto",
    environ: Mapping[str, str] | None = None,
) -> str | None:
    """Why this machine cannot build a cell, or None if it can. Downloads and changes nothing."""
    found = environ or os.environ
    try:
        engine_named(engine)
        choice = toolchains.choice_named(toolchain)
        _check_cell(cell)
        base_python(cell, found)
        compression_flag(declaration, cell)
    except PipelineError as error:
        return error.what
    return None if cell.toolkit is None else toolchains.reason_against(choice, cell, found)


def _check_cell(cell: Cell) -> None:
    if cell.shim:
        raise BuildError("is a shim, which this version of fatwheel does not build yet", where=cell.id)
    here = platform.machine()
    if cell.arch is not None and cell.arch != here:
        article = "an" if cell.arch[0] in "aeioux" else "a"
        raise BuildError(
            f"needs {article} {cell.arch} machine, and this one is {here}",
            where=cell.id,
            remedy=f"build it on {cell.runner}" if cell.runner else f"build it on {article} {cell.arch} machine",
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
