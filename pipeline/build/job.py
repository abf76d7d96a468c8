"""One build of one cell: what it needs is made ready, its command runs, and what it left becomes a verified wheel."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.build import floor, origin, product, toolchain
from pipeline.build.cache import Notify, disk_errors, require_space
from pipeline.build.engine import Engine
from pipeline.build.environment import build_python, check_torch
from pipeline.build.failures import command_failed, kept, output_kept
from pipeline.build.variables import command_fields, compression_flag, environment_variables, filled_command
from pipeline.declaration import Declaration
from pipeline.declaration.model import Package
from pipeline.errors import VerificationError
from pipeline.records.build import BuildRecord, Toolchain
from pipeline.records.plan import Cell

_ROOM = 200_000_000  # bytes for sources and objects of a small package; a large one needs far more, and says so itself
_ANOTHER_DISK = "set TMPDIR to a folder on another disk"
_DRIVER_FLOOR = "compressed code needs driver 550.54.14 or later, and CUDA 12 itself only 525"
_NO_TOOLCHAIN = Toolchain(kind="none", release=None, nvcc=None, host_compiler=None)


@dataclass(frozen=True)
class Wanted:
    """How to build: where, with which toolkit, and which modules (None: all)."""

    engine: Engine
    toolchain: toolchain.Choice
    modules: list[str] | None = None


@dataclass(frozen=True)
class Job:
    """One cell of a declaration, on this machine."""

    declaration: Declaration
    cell: Cell
    package: Package
    environ: Mapping[str, str]
    notify: Notify

    def placeholder(self, staging: Path, size: int) -> tuple[Path, BuildRecord]:
        """A wheel of ``size`` bytes with nothing in it, and its record."""
        draft = self._draft("host", _NO_TOOLCHAIN)
        stamp = product.stamp_of(self.cell, draft.commit, None)
        wheel = product.faked(staging, cell=self.cell, package=self.package, stamp=stamp, size=size)
        record = product.described(wheel, draft.model_copy(update={"placeholder": True}))
        product.judge(wheel, record, self.package)
        return wheel, record

    def build(self, staging: Path, wanted: Wanted) -> tuple[Path, BuildRecord]:
        """The wheel in ``staging``, verified, and its record. Raises `BuildError` and `VerificationError`."""
        if wanted.modules:
            filled_command(self.package, _Anything(), wanted.modules)
        if compression_flag(self.declaration, self.cell) and str(self.cell.toolkit).startswith("12."):
            self.notify(f"{self.cell.id}: {_DRIVER_FLOOR}")
        tools = None
        if self.cell.toolkit is not None:
            tools = toolchain.resolve(wanted.toolchain, self.cell, environ=self.environ, notify=self.notify)
        python = build_python(self.package.build, self.cell, environ=self.environ, notify=self.notify)
        check_torch(python, self.cell)
        with _work_folder(self.cell) as work:
            with disk_errors(work, _ANOTHER_DISK):
                source = origin.sources(self.declaration, self.package, work, environ=self.environ, notify=self.notify)
                licences = origin.licences(self.package, source)
                seconds = self._run(work, wanted, source=source, python=python, tools=tools)
            with output_kept(work / "build.log", self.cell, self.environ):
                report = product.read_report(work / "report.json", self.cell)
                used = tools.record() if tools else _NO_TOOLCHAIN
                draft = self._draft(wanted.engine.name, used).model_copy(
                    update={
                        "slice": wanted.modules,
                        "modules": list(report.modules),
                        "left_out": list(report.left_out),
                        "seconds": round(seconds, 2),
                    }
                )
                stamp = product.stamp_of(self.cell, draft.commit, wanted.modules)
                if self.package.build.kind == "tree":
                    wheel = product.packed(
                        work / "out", staging, cell=self.cell, package=self.package, source=source, stamp=stamp,
                        licences=licences,
                    )  # fmt: skip
                else:
                    wheel = product.collected(work / "out", staging, cell=self.cell, stamp=stamp)
                record = product.described(wheel, draft)
            self._judge(wheel, record, work / "build.log")
        return wheel, record

    def _run(
        self, work: Path, wanted: Wanted, *, source: Path, python: Path, tools: toolchain.Toolchain | None
    ) -> float:
        """Run the package's command; the seconds it took. Raises `BuildError` with its last lines if it fails."""
        out, temporary, log = work / "out", work / "tmp", work / "build.log"
        out.mkdir()
        temporary.mkdir()
        values = command_fields(
            self.cell,
            self.package,
            out=out,
            source=source,
            report=work / "report.json",
            python=python,
            modules=wanted.modules,
        )
        command = filled_command(self.package, values, wanted.modules)
        variables = environment_variables(
            self.declaration,
            self.cell,
            self.package,
            values,
            environ=self.environ,
            toolchain=tools,
            stand_ins=self._stand_ins(tools),
            temporary=temporary,
            epoch=origin.epoch(self.declaration.root, self.environ),
        )
        with_what = f", nvcc {tools.nvcc.version} ({tools.kind}, {tools.home})" if tools else ""
        self.notify(f"{self.cell.id}: {self.package.name} {self.cell.full_version}{with_what}")
        started = time.monotonic()
        status = wanted.engine.run(command, env=variables, cwd=source, log=log)
        if status != 0:
            raise command_failed(self.cell, status, log, self.environ)
        return time.monotonic() - started

    def _stand_ins(self, tools: toolchain.Toolchain | None) -> Path | None:
        if tools is None or self.cell.arch is None:
            return None
        return floor.stand_ins(self.package, self.cell.arch, tools.host, self.environ, self.notify)

    def _judge(self, wheel: Path, record: BuildRecord, log: Path) -> None:
        try:
            warnings = product.judge(wheel, record, self.package)
        except VerificationError as error:
            where = kept(wheel, self.environ, name=f"rejected-{wheel.name}")
            kept(log, self.environ, name=f"{wheel.name}.build.log")
            remedy = f"the wheel and the output of its build are kept beside each other: {where}"
            raise VerificationError(error.what, where=error.where, remedy=remedy) from error
        for finding in warnings:
            self.notify(f"warning: {finding.kind}: {finding.what}")

    def _draft(self, engine: str, used: Toolchain) -> BuildRecord:
        return BuildRecord(
            wheel=self.cell.wheel,
            bytes=0,
            sha256="",
            cell=self.cell,
            engine=engine,
            toolchain=used,
            commit=origin.commit(self.declaration.root),
        )


class _Anything(dict[str, str]):
    """Fields whose values do not matter yet."""

    def __missing__(self, key: str) -> str:
        return ""


@contextmanager
def _work_folder(cell: Cell) -> Iterator[Path]:
    """A folder for everything that the build leaves behind, removed however it ends."""
    place = Path(tempfile.gettempdir())
    require_space(place, _ROOM, f"the build of {cell.id}", _ANOTHER_DISK)
    with disk_errors(place, _ANOTHER_DISK):
        work = Path(tempfile.mkdtemp(prefix=f"fatwheel-{cell.id}-"))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
