"""The CUDA toolchain of a cell: a toolkit of this machine, or NVIDIA's wheels from PyPI made into a CUDA_HOME."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fatwheel.building.cache import Notify, cache_root, get_or_create
from fatwheel.building.compiler import HostCompiler, Nvcc, describe, host_compiler, system_nvcc
from fatwheel.building.engine import HOST, Engine
from fatwheel.building.pip import NO_RETRIES, DownloadRetries, own_pip, run_pip
from fatwheel.errors import BuildError, UsageError
from fatwheel.pythons import clean_python
from fatwheel.records.build import Toolchain as ToolchainRecord
from fatwheel.records.plan import Cell
from fatwheel.targets import nearest, toolkit

Choice = Literal["auto", "system", "pypi"]
CHOICES: tuple[Choice, ...] = ("auto", "system", "pypi")


def choice_named(name: str) -> Choice:
    """One of `CHOICES`. Raises `UsageError`."""
    for choice in CHOICES:
        if choice == name:
            return choice
    raise UsageError(f"there is no toolchain '{name}'", help=f"choose one of: {', '.join(CHOICES)}")


# The first CUDA major with a whole nvcc on PyPI; of CUDA 12 there is only ptxas.
_PYPI_SINCE = 13
# Room for the download (105-125 MB) and the installed tree (271 MB for 13.0), with some to spare.
_TOOLKIT_ROOM = 600_000_000
_RUNTIME_ROOM = 20_000_000
# Where a toolkit of NVIDIA's installer keeps what is for another CPU.
_TARGET_FOLDERS = {"x86_64": "x86_64-linux", "aarch64": "sbsa-linux"}
_PLATFORM_TAGS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")


@dataclass(frozen=True)
class Toolchain:
    """A toolkit that compiles for a cell, and the host compiler beside it."""

    kind: Literal["system", "pypi"]
    nvcc: Nvcc
    host: HostCompiler
    stubs: Path  # holds a libcuda.so to link against where no driver is
    # The CUDA runtime for another CPU, where the host compiler is a cross compiler, and headers beside it. nvcc then
    # looks below targets/ alone, and those of NVIDIA's wheels are not there.
    libraries: Path | None = None
    headers: Path | None = None

    @property
    def home(self) -> Path:
        """CUDA_HOME."""
        return self.nvcc.home

    def record(self) -> ToolchainRecord:
        """What the build's record says of it."""
        return ToolchainRecord(
            kind=self.kind, release=self.nvcc.release, nvcc=self.nvcc.version, host_compiler=self.host.version
        )


def resolve(
    choice: Choice,
    cell: Cell,
    *,
    environ: Mapping[str, str],
    notify: Notify,
    usual: Path = Path("/usr/local/cuda"),
    engine: Engine = HOST,
    retries: DownloadRetries = NO_RETRIES,
) -> Toolchain:
    """The toolchain for a cell that has a toolkit. ``auto``: the machine's own where its release fits, else PyPI's.

    For a cell of another CPU than the engine's it has a cross compiler. Raises `BuildError` if the toolkit cannot be
    had, cannot compile one of the cell's targets, or no host compiler is there.
    """
    check_targets(cell)
    release = _release(cell)
    arch = cell.arch or engine.arch
    make = _Maker(engine, environ, notify, retries)
    host = host_compiler(environ, engine=engine, name=cross_compiler(cell, engine, environ))
    nvcc, refusal = _system(choice, cell, environ, usual, engine)
    kind: Literal["system", "pypi"] = "system"
    if nvcc is None or refusal is not None:
        if choice == "system":
            raise refusal or BuildError("no toolkit")
        if not on_pypi(release):
            raise _not_on_pypi(cell, refusal)
        if refusal is not None:
            notify(f"{refusal.what}; taking CUDA {release} from PyPI")
        nvcc, kind = describe(make.toolkit(release), environ, "PyPI", engine=engine), "pypi"
    stubs = make.stubs(nvcc.home, host, arch)
    if arch == engine.arch:
        return Toolchain(kind, nvcc, host, stubs)
    libraries = make.libraries(release, arch, nvcc.home)
    headers = (libraries.parent if libraries.is_relative_to(nvcc.home) else nvcc.home) / "include"
    return Toolchain(kind, nvcc, host, stubs, libraries, headers)


def cross_compiler(cell: Cell, engine: Engine, environ: Mapping[str, str]) -> str | None:
    """The name of the compiler that makes a cell's code on another CPU; None where the engine's own does."""
    if cell.arch is None or cell.arch == engine.arch:
        return None
    return environ.get("NVCC_CCBIN") or f"{cell.arch}-linux-gnu-g++"


def reason_against(
    choice: Choice, cell: Cell, environ: Mapping[str, str], usual: Path = Path("/usr/local/cuda")
) -> str | None:
    """Why no toolchain can be had here for a cell; None if one can. Downloads nothing."""
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
    """Whether PyPI has an nvcc of this release."""
    return toolkit(release).version[0] >= _PYPI_SINCE


def check_targets(cell: Cell) -> None:
    """Raise `BuildError` naming every target that the cell's toolkit cannot compile, with the nearest that would do."""
    table = toolkit(_release(cell))
    wrong = [target for target in cell.targets if not table.compiles(target)]
    if not wrong:
        return
    nearby = {str(target): nearest(target, table.release) for target in wrong}
    advice = [f"{near} in the place of {name}" if near else f"leave {name} out" for name, near in nearby.items()]
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
    choice: Choice, cell: Cell, environ: Mapping[str, str], usual: Path, engine: Engine
) -> tuple[Nvcc | None, BuildError | None]:
    """The machine's nvcc, and why it will not do for the cell, if it will not."""
    release = _release(cell)
    if choice == "pypi":
        return None, None
    help = f"set CUDA_HOME to a CUDA {release} toolkit" + (", or take --toolchain pypi" if on_pypi(release) else "")
    try:
        nvcc = system_nvcc(environ, usual, engine=engine)
    except BuildError as error:
        return None, error
    if nvcc is None:
        what = f"there is no nvcc here (looked in CUDA_HOME, {usual}, PATH), and the cell needs CUDA {release}"
        return None, BuildError(what, where=cell.id, help=help)
    if nvcc.release != release:
        what = f"nvcc of {nvcc.home} (by {nvcc.found}) is CUDA {nvcc.release}, and the cell needs {release}"
        return nvcc, BuildError(what, where=cell.id, help=help)
    return nvcc, None


def _not_on_pypi(cell: Cell, refusal: BuildError | None) -> BuildError:
    release = _release(cell)
    found = f": {refusal.what}" if refusal else ""
    image = cell.image or f"an image with CUDA {release}"
    return BuildError(
        f"CUDA {release} cannot be had here, since PyPI has no nvcc of CUDA {release.split('.')[0]}{found}",
        where=cell.id,
        help=f"set CUDA_HOME to a CUDA {release} toolkit (like /usr/local/cuda-{release}), "
        f"or run fatwheel inside {image}",
    )


@dataclass(frozen=True)
class _Maker:
    """Makes what is missing, in fatwheel's cache: downloads on this machine, compiling where the engine is."""

    engine: Engine
    environ: Mapping[str, str]
    notify: Notify
    retries: DownloadRetries

    @property
    def folder(self) -> Path:
        return cache_root(self.environ) / "toolkits"

    def toolkit(self, release: str) -> Path:
        """A CUDA_HOME of PyPI's wheels."""
        arch = self.engine.arch
        place = self.folder / f"cuda-{release}-{arch}"
        inner = Path("nvidia") / f"cu{toolkit(release).version[0]}"

        def make(temporary: Path) -> None:
            what = f"CUDA {release} from PyPI (some 120 MB, once)"
            self._fetch(temporary, f"cuda-toolkit[nvcc,cccl,cudart]=={release}.*", arch, what)
            home = temporary / inner
            if not (home / "bin" / "nvcc").is_file():
                raise BuildError(
                    f"PyPI's CUDA {release} came without {inner}/bin/nvcc",
                    help="set CUDA_HOME to a toolkit of your own",
                )
            _complete(home)
            nvcc = describe(home, self.environ, "PyPI", engine=self.engine)
            if nvcc.release != release:
                raise BuildError(
                    f"PyPI's cuda-toolkit {release} holds nvcc {nvcc.version}",
                    help="set CUDA_HOME to a toolkit of your own",
                )

        return self._once(place, make, _TOOLKIT_ROOM, f"CUDA {release}") / inner

    def libraries(self, release: str, arch: str, home: Path) -> Path:
        """The CUDA runtime to link with for another CPU: the toolkit's own, else PyPI's."""
        own = home / "targets" / _TARGET_FOLDERS[arch] / "lib"
        if self.engine.has(own / "libcudart_static.a"):
            return own
        major = toolkit(release).version[0]
        name = "nvidia-cuda-runtime" if major >= _PYPI_SINCE else f"nvidia-cuda-runtime-cu{major}"
        place = self.folder / f"cudart-{release}-{arch}"

        def make(temporary: Path) -> None:
            what = f"CUDA {release}'s runtime for {arch} from PyPI (3 MB, once)"
            self._fetch(temporary, f"{name}=={release}.*", arch, what, deps=False)

        made = self._once(place, make, _RUNTIME_ROOM, f"CUDA {release}'s runtime for {arch}")
        found = next(made.glob("nvidia/**/libcudart_static.a"), None)
        if found is None:
            raise BuildError(f"PyPI's {name} {release} for {arch} holds no libcudart_static.a")
        return found.parent

    def stubs(self, home: Path, host: HostCompiler, arch: str) -> Path:
        """The toolkit's own stubs where they are for this CPU, else fatwheel's."""
        if arch == self.engine.arch:
            for folder in (home / "lib64" / "stubs", home / "lib" / "stubs"):
                if self.engine.has(folder / "libcuda.so"):
                    return folder
        place = self.folder / f"stubs-{arch}"
        return self._once(place, lambda temporary: self._stub(temporary, host), 1_000_000, "a stub")

    def _stub(self, folder: Path, host: HostCompiler) -> None:
        """An empty library of the driver's name: linking asks for -lcuda, and a build machine has no driver."""
        command = [host.path, "-shared", "-Wl,-soname,libcuda.so.1", "-o", str(folder / "libcuda.so"), "-x", "c",
                   "/dev/null"]  # fmt: skip
        answer = self.engine.ask(command, env=self.environ, cwd=folder)
        if answer.status != 0:
            said = " / ".join(answer.tail.splitlines()[-3:])
            raise BuildError(f"the host compiler cannot make a library: {said}", help=f"check {host.path} by hand")

    def _fetch(self, target: Path, requirement: str, arch: str, what: str, *, deps: bool = True) -> None:
        """Unpack wheels into a folder, for any CPU."""
        scratch = target / ".scratch"
        scratch.mkdir()
        clean = clean_python(self.environ)
        foreign = [f"--platform={tag}_{arch}" for tag in _PLATFORM_TAGS] if arch != platform.machine() else []
        run_pip(
            own_pip(scratch, clean),
            ["install", "--quiet", "--no-compile", "--only-binary=:all:", "--target", str(target), *foreign,
             *([] if deps else ["--no-deps"]), requirement],
            what=what, environ=clean, cwd=scratch, notify=self.notify, retries=self.retries,
        )  # fmt: skip
        shutil.rmtree(scratch)

    def _once(self, place: Path, make: Callable[[Path], None], needs: int, what: str) -> Path:
        return get_or_create(place, make, needs=needs, what=what, notify=self.notify)


def _complete(home: Path) -> None:
    """What NVIDIA's wheels lack for a CUDA_HOME: lib64, and a libcudart.so."""
    if not (home / "lib64").exists():
        (home / "lib64").symlink_to("lib")
    link = home / "lib" / "libcudart.so"
    if not link.exists():
        link.symlink_to(next(home.glob("lib/libcudart.so.*")).name)
