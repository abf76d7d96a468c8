"""The CUDA toolchain of a cell: an installed toolkit, or a CUDA_HOME made from NVIDIA's wheels on PyPI."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fatwheel.building.cache import get_or_create
from fatwheel.building.compiler import HostCompiler, Nvcc, host_compiler, query_nvcc, system_nvcc
from fatwheel.building.engine import HOST, Engine
from fatwheel.building.pip import NO_RETRIES, DownloadRetries, own_pip, run_pip_with_retries
from fatwheel.caches import cache_root
from fatwheel.errors import BuildError, UsageError
from fatwheel.pythons import clean_python
from fatwheel.records.build import ToolchainRecord
from fatwheel.records.plan import Cell
from fatwheel.retry import Notify
from fatwheel.targets import nearest, toolkit
from fatwheel.vocabulary import TOOLCHAINS, ToolchainChoice


def parse_choice(name: str) -> ToolchainChoice:
    """Return one of `TOOLCHAINS`. Raises `UsageError` for another name."""
    for choice in TOOLCHAINS:
        if choice == name:
            return choice
    raise UsageError(f"unknown toolchain '{name}'", help=f"choose one of: {', '.join(TOOLCHAINS)}")


# The first CUDA major version with a complete nvcc on PyPI; CUDA 12 has only ptxas there.
_PYPI_SINCE = 13
# Disk space in bytes for the download (100 to 119 MiB) and the installed tree (258 MiB for 13.0), with a reserve.
_TOOLKIT_ROOM = 600 << 20
_RUNTIME_ROOM = 20 << 20
# Folders below targets/ in which NVIDIA's installer puts the libraries for a CPU architecture.
_TARGET_FOLDERS = {"x86_64": "x86_64-linux", "aarch64": "sbsa-linux"}
_PLATFORM_TAGS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")


@dataclass(frozen=True)
class Toolchain:
    """A CUDA toolkit for a cell, with its host compiler."""

    kind: Literal["system", "pypi"]
    nvcc: Nvcc
    host: HostCompiler
    stubs: Path  # contains a libcuda.so to link with on machines without a driver
    # The CUDA runtime for another CPU and its headers, if the host compiler is a cross compiler: nvcc then searches
    # only targets/, which NVIDIA's wheels do not have.
    libraries: Path | None = None
    headers: Path | None = None

    @property
    def home(self) -> Path:
        """CUDA_HOME."""
        return self.nvcc.home

    def record(self) -> ToolchainRecord:
        """Return the toolchain for the build record."""
        return ToolchainRecord(
            kind=self.kind, release=self.nvcc.release, nvcc=self.nvcc.version, host_compiler=self.host.version
        )


def resolve(
    choice: ToolchainChoice,
    cell: Cell,
    *,
    environ: Mapping[str, str],
    notify: Notify,
    usual: Path = Path("/usr/local/cuda"),
    engine: Engine = HOST,
    retries: DownloadRetries = NO_RETRIES,
) -> Toolchain:
    """Return the toolchain for a cell. ``auto``: the installed toolkit if its release matches, else that of PyPI.

    For a CPU other than the engine's it uses a cross compiler. Raises `BuildError` if the toolkit is not available or
    cannot compile a target of the cell, or if the host compiler is missing.
    """
    check_targets(cell)
    release = _release(cell)
    arch = cell.arch or engine.arch
    make = _Provider(engine, environ, notify, retries)
    host = host_compiler(environ, engine=engine, name=cross_compiler(cell, engine, environ))
    nvcc, refusal = _system(choice, cell, environ, usual, engine)
    kind: Literal["system", "pypi"] = "system"
    if nvcc is None or refusal is not None:
        if choice == "system":
            raise refusal or BuildError("no toolkit")
        if not on_pypi(release):
            raise _not_on_pypi(cell, refusal)
        if refusal is not None:
            notify(f"{refusal.what}; using CUDA {release} from PyPI")
        nvcc, kind = query_nvcc(make.toolkit(release), environ, "PyPI", engine=engine), "pypi"
    stubs = make.stubs(nvcc.home, host, arch)
    if arch == engine.arch:
        return Toolchain(kind, nvcc, host, stubs)
    libraries = make.libraries(release, arch, nvcc.home)
    headers = (libraries.parent if libraries.is_relative_to(nvcc.home) else nvcc.home) / "include"
    return Toolchain(kind, nvcc, host, stubs, libraries, headers)


def cross_compiler(cell: Cell, engine: Engine, environ: Mapping[str, str]) -> str | None:
    """Return the cross compiler for a cell of another CPU; None if the engine's CPU is the cell's."""
    if cell.arch is None or cell.arch == engine.arch:
        return None
    return environ.get("NVCC_CCBIN") or f"{cell.arch}-linux-gnu-g++"


def explain_unavailable(
    choice: ToolchainChoice, cell: Cell, environ: Mapping[str, str], usual: Path = Path("/usr/local/cuda")
) -> str | None:
    """Return why this machine has no toolchain for a cell; None if it has one. Downloads nothing."""
    try:
        check_targets(cell)
        host_compiler(environ, name=cross_compiler(cell, HOST, environ))
        _, refusal = _system(choice, cell, environ, usual, HOST)
        if refusal is not None and choice == "system":
            raise refusal
        if refusal is not None and not on_pypi(_release(cell)):
            raise _not_on_pypi(cell, refusal)
    except BuildError as error:
        return error.what
    return None


def on_pypi(release: str) -> bool:
    """Return whether PyPI has nvcc of this release."""
    return toolkit(release).version[0] >= _PYPI_SINCE


def check_targets(cell: Cell) -> None:
    """Raise `BuildError` with every target that the cell's toolkit cannot compile, and the closest supported ones."""
    table = toolkit(_release(cell))
    wrong = [target for target in cell.targets if not table.compiles(target)]
    if not wrong:
        return
    nearby = {str(target): nearest(target, table.release) for target in wrong}
    advice = [f"{near} instead of {name}" if near else f"remove {name}" for name, near in nearby.items()]
    raise BuildError(
        f"CUDA {table.release} cannot compile {', '.join(nearby)}",
        where=cell.id,
        help=f"declare {', '.join(advice)}" if all(nearby.values()) else ", ".join(advice),
    )


def _release(cell: Cell) -> str:
    if cell.toolkit is None:
        raise BuildError("this cell has no CUDA toolkit", where=cell.id)
    return cell.toolkit


def _system(
    choice: ToolchainChoice, cell: Cell, environ: Mapping[str, str], usual: Path, engine: Engine
) -> tuple[Nvcc | None, BuildError | None]:
    """Return the installed nvcc, and why the cell cannot use it, if so."""
    release = _release(cell)
    if choice == "pypi":
        return None, None
    help = f"set CUDA_HOME to a CUDA {release} toolkit" + (", or use --toolchain pypi" if on_pypi(release) else "")
    try:
        nvcc = system_nvcc(environ, usual, engine=engine)
    except BuildError as error:
        return None, error
    if nvcc is None:
        what = f"nvcc not found (searched CUDA_HOME, {usual}, PATH); the cell needs CUDA {release}"
        return None, BuildError(what, where=cell.id, help=help)
    if nvcc.release != release:
        what = f"nvcc in {nvcc.home} (from {nvcc.found}) is CUDA {nvcc.release}, but the cell needs CUDA {release}"
        return nvcc, BuildError(what, where=cell.id, help=help)
    return nvcc, None


def _not_on_pypi(cell: Cell, refusal: BuildError | None) -> BuildError:
    release = _release(cell)
    found = f"; {refusal.what}" if refusal else ""
    image = cell.image or f"an image with CUDA {release}"
    return BuildError(
        f"CUDA {release} is not available: PyPI has no nvcc for CUDA {release.split('.')[0]}{found}",
        where=cell.id,
        help=f"set CUDA_HOME to a CUDA {release} toolkit (/usr/local/cuda-{release}), or run fatwheel inside {image}",
    )


@dataclass(frozen=True)
class _Provider:
    """Provides missing parts in fatwheel's cache: downloads them on this machine, compiles them in the engine."""

    engine: Engine
    environ: Mapping[str, str]
    notify: Notify
    retries: DownloadRetries

    @property
    def folder(self) -> Path:
        return cache_root(self.environ) / "toolkits"

    def toolkit(self, release: str) -> Path:
        """Return a CUDA_HOME made from PyPI's wheels."""
        arch = self.engine.arch
        place = self.folder / f"cuda-{release}-{arch}"
        inner = Path("nvidia") / f"cu{toolkit(release).version[0]}"

        def make(temporary: Path) -> None:
            what = f"CUDA {release} from PyPI (about 120 MiB, once)"
            self._fetch(temporary, f"cuda-toolkit[nvcc,cccl,cudart]=={release}.*", arch, what)
            home = temporary / inner
            if not (home / "bin" / "nvcc").is_file():
                raise BuildError(
                    f"{inner}/bin/nvcc is missing in PyPI's CUDA {release}",
                    help="set CUDA_HOME to an installed toolkit",
                )
            _complete_home(home)
            nvcc = query_nvcc(home, self.environ, "PyPI", engine=self.engine)
            if nvcc.release != release:
                raise BuildError(
                    f"PyPI's cuda-toolkit {release} contains nvcc {nvcc.version}",
                    help="set CUDA_HOME to an installed toolkit",
                )

        return self._get_or_create(place, make, _TOOLKIT_ROOM, f"CUDA {release}") / inner

    def libraries(self, release: str, arch: str, home: Path) -> Path:
        """Return the CUDA runtime for another CPU: from the toolkit, else from PyPI."""
        own = home / "targets" / _TARGET_FOLDERS[arch] / "lib"
        if self.engine.has(own / "libcudart_static.a"):
            return own
        major = toolkit(release).version[0]
        name = "nvidia-cuda-runtime" if major >= _PYPI_SINCE else f"nvidia-cuda-runtime-cu{major}"
        place = self.folder / f"cudart-{release}-{arch}"

        def make(temporary: Path) -> None:
            what = f"CUDA {release}'s runtime for {arch} from PyPI (3 MiB, once)"
            self._fetch(temporary, f"{name}=={release}.*", arch, what, deps=False)

        made = self._get_or_create(place, make, _RUNTIME_ROOM, f"CUDA {release}'s runtime for {arch}")
        found = next(made.glob("nvidia/**/libcudart_static.a"), None)
        if found is None:
            raise BuildError(f"libcudart_static.a is missing in PyPI's {name} {release} for {arch}")
        return found.parent

    def stubs(self, home: Path, host: HostCompiler, arch: str) -> Path:
        """Return the toolkit's stubs if they are for this CPU, else stubs made by fatwheel."""
        if arch == self.engine.arch:
            for folder in (home / "lib64" / "stubs", home / "lib" / "stubs"):
                if self.engine.has(folder / "libcuda.so"):
                    return folder
        place = self.folder / f"stubs-{arch}"
        return self._get_or_create(place, lambda temporary: self._stub(temporary, host), 1 << 20, "a stub of libcuda")

    def _stub(self, folder: Path, host: HostCompiler) -> None:
        """Make an empty libcuda.so: builds link with -lcuda, and a build machine has no driver."""
        command = [host.path, "-shared", "-Wl,-soname,libcuda.so.1", "-o", str(folder / "libcuda.so"), "-x", "c",
                   "/dev/null"]  # fmt: skip
        answer = self.engine.ask(command, env=self.environ, cwd=folder)
        if answer.status != 0:
            last = " / ".join(answer.tail.splitlines()[-3:])
            raise BuildError(f"the host compiler cannot link a library: {last}", help=f"check {host.path}")

    def _fetch(self, target: Path, requirement: str, arch: str, what: str, *, deps: bool = True) -> None:
        """Download and unpack wheels into a folder, for any CPU."""
        scratch = target / ".scratch"
        scratch.mkdir()
        clean = clean_python(self.environ)
        foreign = [f"--platform={tag}_{arch}" for tag in _PLATFORM_TAGS] if arch != platform.machine() else []
        run_pip_with_retries(
            own_pip(scratch, clean),
            ["install", "--quiet", "--no-compile", "--only-binary=:all:", "--target", str(target), *foreign,
             *([] if deps else ["--no-deps"]), requirement],
            what=what, environ=clean, cwd=scratch, notify=self.notify, retries=self.retries,
        )  # fmt: skip
        shutil.rmtree(scratch)

    def _get_or_create(self, place: Path, make: Callable[[Path], None], needs: int, what: str) -> Path:
        return get_or_create(place, make, needs=needs, what=what, notify=self.notify)


def _complete_home(home: Path) -> None:
    """Add what NVIDIA's wheels do not contain: lib64 and libcudart.so."""
    if not (home / "lib64").exists():
        (home / "lib64").symlink_to("lib")
    link = home / "lib" / "libcudart.so"
    if not link.exists():
        link.symlink_to(next(home.glob("lib/libcudart.so.*")).name)
