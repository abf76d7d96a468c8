"""One build of one cell: prepare its requirements, run its command, and turn the output into a verified wheel."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from fatwheel.building import glibc_stubs, parallel, product, sdist, source_tree, toolchain
from fatwheel.building.build_dir import ANOTHER_DISK, BuildDir, build_dir
from fatwheel.building.build_errors import command_failed, keep_file, keep_output
from fatwheel.building.cache import disk_errors, make_folder
from fatwheel.building.compiler_cache import CompilerCache, Mode, cache_for
from fatwheel.building.containers import Mount, container, container_environ
from fatwheel.building.engine import HOST, Engine, EngineOptions
from fatwheel.building.environment import build_python, check_torch
from fatwheel.building.images import login_for
from fatwheel.building.pip import DownloadRetries
from fatwheel.building.postprocess import postprocess
from fatwheel.building.preflight import Ready, preflight
from fatwheel.building.variables import command_fields, compression_flag, environment_variables, fill_command
from fatwheel.building.watchdog import SILENCE, Limits, Watchdog
from fatwheel.caches import cache_root
from fatwheel.declaration import Declaration
from fatwheel.declaration.model import Package
from fatwheel.digests import Digest
from fatwheel.errors import BuildError, VerificationError
from fatwheel.formatting import count_of
from fatwheel.records.build import BuildRecord, Parallelism, ToolchainRecord
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.plan import Cell
from fatwheel.resources import scripts
from fatwheel.retry import Notify
from fatwheel.targets import COMPRESSED_CODE_DRIVER, MINIMUM_DRIVERS
from fatwheel.vocabulary import ToolchainChoice

_ROOM = 200_000_000  # bytes for sources and objects of a small package; a large one declares its own
_DRIVER_FLOOR = (
    f"note: compressed device code requires driver {COMPRESSED_CODE_DRIVER} or later; "
    f"CUDA 12 itself requires only {MINIMUM_DRIVERS[12]}"
)
_MARK = "FATWHEEL_BUILD"  # the environment variable that marks all processes of a build
_NO_TOOLCHAIN = ToolchainRecord(kind="none", release=None, nvcc=None, host_compiler=None)


@dataclass(frozen=True)
class BuildOverrides:
    """Settings of one run that override matrix.yaml and the defaults of the machine. Times are in seconds."""

    jobs: int | None = None
    nvcc_threads: int | None = None
    silence: float | None = None
    time_limit: float | None = None
    cache: Mode = "auto"
    retries: DownloadRetries = field(default_factory=DownloadRetries)
    beside: int = 1  # builds in parallel on this machine


@dataclass(frozen=True)
class BuildOptions:
    """How to build: the engine, the toolchain, the modules (None: all), and overrides."""

    engine: EngineOptions = field(default_factory=EngineOptions)
    toolchain: ToolchainChoice = "auto"
    modules: list[str] | None = None
    tuning: BuildOverrides = field(default_factory=BuildOverrides)


@dataclass(frozen=True)
class Built:
    """A finished wheel, its record, and the compiler cache's statistics as JSON."""

    wheel: Path
    record: BuildRecord
    statistics: bytes | None = None


@dataclass(frozen=True)
class _CommandResult:
    """Measurements of one run of the build command. ``peak``: bytes of memory."""

    seconds: float
    parallel: Parallelism
    peak: int
    cache: CompilerCache | None


@dataclass(frozen=True)
class BuildJob:
    """The build of one cell on this machine."""

    declaration: Declaration
    cell: Cell
    package: Package
    environ: Mapping[str, str]
    notify: Notify

    def placeholder(self, staging: Path, size: int) -> Built:
        """Make a placeholder wheel or sdist of ``size`` bytes, and its record."""
        draft = self.draft(HOST, _NO_TOOLCHAIN)
        if self.package.build.kind == "sdist":
            file = sdist.make_placeholder_sdist(
                staging, self.cell, product.core_metadata(self.cell, self.package, None), size
            )
            sdist.verify_sdist(file, self.cell)
            return Built(file, product.with_digest(file, draft.model_copy(update={"placeholder": True})))
        stamp = EmbeddedMetadata.of(self.cell, commit=draft.commit)
        wheel = product.make_placeholder(staging, cell=self.cell, package=self.package, stamp=stamp, size=size)
        record = product.with_digest(wheel, draft.model_copy(update={"placeholder": True}))
        product.verify_built_wheel(wheel, record, self.package)
        return Built(wheel, record)

    def build(self, staging: Path, options: BuildOptions) -> Built:
        """Build the wheel into ``staging`` and verify it. Raises `BuildError` and `VerificationError`."""
        if options.modules:
            fill_command(self.package, _DummyFields(), options.modules)
        if compression_flag(self.declaration, self.cell) and str(self.cell.toolkit).startswith("12."):
            self.notify(f"{self.cell.id}: {_DRIVER_FLOOR}")
        with ExitStack() as stack:
            work = stack.enter_context(build_dir(self.cell, self.package.build.disk or _ROOM))
            engine, environ = stack.enter_context(self._engine(options, work))
            return _BuildExecution(self, options, work, engine, environ).build(staging)

    @contextmanager
    def _engine(self, options: BuildOptions, work: BuildDir) -> Iterator[tuple[Engine, Mapping[str, str]]]:
        """Yield the engine and the base environment of its commands."""
        choice = options.engine
        if choice.name == "host":
            yield HOST, self.environ
            return
        image = choice.image or self.cell.image
        if image is None:
            raise BuildError(
                f"no container image declared for {choice.name}",
                where=self.cell.id,
                help=f"declare `image` for {self.cell.cuda or 'a CUDA label'}, or use --image",
            )
        cache = cache_root(self.environ)
        make_folder(cache)
        mounts = [Mount(work.folder, writable=True), Mount(cache, writable=True), Mount(scripts())]
        if self.package.source.checkout is not None:
            mounts.append(Mount((self.declaration.root / self.package.source.checkout).resolve(), writable=True))
        used = cache_for(options.tuning.cache, work, self.environ)
        if used is not None:
            mounts.append(Mount(Path(used.program)))
            if used.kind == "local":
                place = Path(used.variables["SCCACHE_DIR"])
                make_folder(place)
                mounts.append(Mount(place, writable=True))
        login = login_for(image, self.declaration.document.secrets, self.environ)
        with container(
            choice, image, self.cell.arch or HOST.arch, mounts=mounts, title=self.cell.id, environ=self.environ,
            login=login, notify=self.notify,
        ) as running:  # fmt: skip
            yield running, container_environ(running.local.environ, self.environ, work.home, cache)

    def draft(self, engine: Engine, used: ToolchainRecord) -> BuildRecord:
        """Return the build record without the fields of the finished wheel."""
        return BuildRecord(
            wheel=self.cell.wheel,
            bytes=0,
            sha256=Digest.of(b""),
            cell=self.cell,
            engine=engine.name,
            image=engine.image,
            toolchain=used,
            commit=source_tree.head_commit(self.declaration.root),
        )


@dataclass(frozen=True)
class _BuildExecution:
    """A job in its build folder and engine."""

    job: BuildJob
    options: BuildOptions
    work: BuildDir
    engine: Engine
    environ: Mapping[str, str]

    def build(self, staging: Path) -> Built:
        """See `BuildJob.build`."""
        with disk_errors(self.work.folder, ANOTHER_DISK):
            ready, draft, python = self._prepare()
            result = self._run(ready, python)
        return self._finish(ready, draft, result, staging)

    def _prepare(self) -> tuple[Ready, BuildRecord, Path]:
        """Return the prepared build, the beginning of its record, and the interpreter of its environment."""
        job, cell, package = self.job, self.job.cell, self.job.package
        retries = self.options.tuning.retries
        tools = None
        if cell.toolkit is not None and not cell.shim:
            tools = toolchain.resolve(
                self.options.toolchain, cell, environ=self.environ, notify=job.notify, engine=self.engine,
                retries=retries,
            )  # fmt: skip
        python = build_python(
            package.build, cell, environ=self.environ, notify=job.notify, engine=self.engine, retries=retries
        )
        check_torch(python, cell)
        source = source_tree.prepare_sources(
            job.declaration, package, self.work, environ=job.environ, notify=job.notify, retries=retries
        )
        licenses = source_tree.license_files(package, source)
        used = tools.record() if tools else _NO_TOOLCHAIN
        draft = job.draft(self.engine, used)
        stamp = EmbeddedMetadata.of(cell, commit=draft.commit, modules=self.options.modules)
        return Ready(cell, package, self.engine, tools, self.work, source, licenses, stamp), draft, python

    def _finish(self, ready: Ready, draft: BuildRecord, result: _CommandResult, staging: Path) -> Built:
        """Make the wheel from the output of the command, verify it, and complete its record."""
        job, cell, package = self.job, ready.cell, ready.package
        with keep_output(self.work.log, cell, job.environ):
            report = product.read_report(self.work.report, cell)
            draft = draft.model_copy(
                update={
                    "slice": self.options.modules,
                    "modules": list(report.modules),
                    "excluded_modules": list(report.excluded_modules),
                    "seconds": round(result.seconds, 2),
                    "parallel": result.parallel,
                    "peak_memory": result.peak or None,
                    "cache": result.cache.usage() if result.cache else None,
                }
            )
            if package.build.kind == "tree":
                wheel = product.pack_tree(
                    self.work.out,
                    staging,
                    cell=cell,
                    package=package,
                    source=ready.source,
                    stamp=ready.stamp,
                    licenses=ready.licenses,
                )
            elif package.build.kind == "sdist":
                wheel = sdist.collect_sdist(self.work.out, staging, cell)
            else:
                wheel = product.collect_wheel(self.work.out, staging, cell=cell, package=package, stamp=ready.stamp)
            if package.build.kind != "sdist":
                draft = postprocess(wheel, package, cell, draft)
            record = product.with_digest(wheel, draft)
        self._verify(wheel, record)
        if package.build.kind != "sdist" and not product.has_license(wheel):
            job.notify(f"warning: {wheel.name} has no license file; add one in its build")
        statistics = result.cache.statistics if result.cache else None
        return Built(wheel, record, statistics.read_bytes() if statistics and statistics.is_file() else None)

    def _run(self, ready: Ready, python: Path) -> _CommandResult:
        """Run the package's command. Raises `BuildError` with the compiler's message, and `BuildTimeout`."""
        job, cell, package, tools = self.job, self.job.cell, self.job.package, ready.tools
        tuning = self.options.tuning
        uses_launcher = any("{launcher}" in text for text in (*package.build.command, *package.build.env.values()))
        cache = cache_for(tuning.cache, self.work, job.environ) if tools or (uses_launcher and not cell.shim) else None
        found = parallel.inspect_machine()
        share = self._parallelism(found)
        values = command_fields(
            cell, package, out=self.work.out, source=ready.source, report=self.work.report, python=python,
            modules=self.options.modules, parallel=share, launcher=cache.launcher if cache else "",
        )  # fmt: skip
        command = fill_command(package, values, self.options.modules)
        variables = environment_variables(
            job.declaration, cell, package, values, environ=self.environ, toolchain=tools,
            glibc_stubs=self._glibc_stubs(tools), temporary=self.work.temporary,
            epoch=source_tree.source_epoch(job.declaration.root, job.environ),
        )  # fmt: skip
        variables.setdefault("DIST_EXTRA_CONFIG", str(self.work.setuptools))
        preflight(ready, variables, found, self._job_memory(), job.notify)
        if cache and command:
            command, variables = cache.wrap(command, python), variables | cache.variables
        with_nvcc = f", nvcc {tools.nvcc.version} ({tools.kind}, {tools.home})" if tools else ""
        inside = f", in {self.engine.image.name}" if self.engine.image else ""
        job.notify(f"{cell.id}: {package.name} {cell.full_version}{with_nvcc}{inside}")
        if not command:  # a shim without files
            return _CommandResult(0.0, share, 0, None)
        job.notify(
            f"{cell.id}: {count_of(share.jobs, 'job')}: {share.reason}" + (f"; cache: {cache.mode}" if cache else "")
        )
        variables[_MARK] = str(self.work.folder)
        with open(self.work.log, "ab") as log:
            watch = self._watchdog(log, cache, variables)
            started = time.monotonic()
            watch.start()
            try:
                status = self.engine.run(command, env=variables, cwd=ready.source, sink=watch.sink, tick=watch.tick)
            finally:
                if cache:
                    cache.stop(self.engine, variables)
        if status != 0:
            raise command_failed(cell, status, self.work.log, job.environ)
        return _CommandResult(time.monotonic() - started, share, watch.peak, cache)

    def _watchdog(self, log: BinaryIO, cache: CompilerCache | None, variables: Mapping[str, str]) -> Watchdog:
        tuning, build = self.options.tuning, self.job.package.build
        limits = Limits(tuning.silence or build.silence or SILENCE, tuning.time_limit or build.time_limit)
        watch = Watchdog(
            limits,
            log,
            cache_root(self.job.environ) / "failed" / f"{self.job.cell.wheel}.diagnostics.txt",
            (self.work.folder, cache_root(self.job.environ)),
            mark=f"{_MARK}={self.work.folder}",
        )
        if cache:
            watch.cache_state = lambda: cache.describe(self.engine, variables)
        return watch

    def _parallelism(self, found: parallel.Machine) -> Parallelism:
        tuning, build = self.options.tuning, self.job.package.build
        declared = build.env.get("NVCC_THREADS", "")
        threads = tuning.nvcc_threads or (int(declared) if declared.isdigit() else 1)
        return parallel.choose_jobs(
            found, threads=threads, job_memory=self._job_memory(), jobs=tuning.jobs, beside=tuning.beside
        )

    def _job_memory(self) -> int:
        return self.job.package.build.job_memory or parallel.JOB_MEMORY

    def _glibc_stubs(self, tools: toolchain.Toolchain | None) -> Path | None:
        job = self.job
        if tools is None or job.cell.arch is None:
            return None
        return glibc_stubs.glibc_stubs(
            job.package, job.cell.arch, tools.host, self.environ, job.notify, engine=self.engine
        )

    def _verify(self, wheel: Path, record: BuildRecord) -> None:
        job = self.job
        warnings = []
        try:
            if job.package.build.kind == "sdist":
                sdist.verify_sdist(wheel, job.cell)
            else:
                warnings = product.verify_built_wheel(wheel, record, job.package)
        except VerificationError as error:
            where = keep_file(wheel, job.environ, name=f"rejected-{wheel.name}")
            keep_file(self.work.log, job.environ, name=f"{wheel.name}.build.log")
            help = f"the rejected wheel and the output of its build are in the same folder: {where}"
            raise VerificationError(error.what, where=error.where, help=help) from error
        for finding in warnings:
            job.notify(f"warning: {finding.kind}: {finding.what}")


class _DummyFields(dict[str, str]):
    """Empty values for every field, to check a command before its fields are known."""

    def __missing__(self, key: str) -> str:
        return ""
