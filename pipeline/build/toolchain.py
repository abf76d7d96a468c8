"""The CUDA toolchain of a cell: a toolkit of this machine, or NVIDIA's wheels from PyPI made into a CUDA_HOME."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipeline.build.cache import Notify, cache_root, made_once
from pipeline.build.compiler import HostCompiler, Nvcc, describe, host_compiler, system_nvcc
from pipeline.build.pip import own_pip, run_pip
from pipeline.errors import BuildError, UsageError
from pipeline.processes import run_group
from pipeline.pythons import clean_python
from pipeline.records.build import Toolchain as ToolchainRecord
from pipeline.records.plan import Cell
from pipeline.targets import nearest, parse_target, toolkit

Choice = Literal["auto", "system", "pypi"]
CHOICES: tuple[Choice, ...] = ("auto", "system", "pypi")


def choice_named(name: str) -> Choice:
    """One of `CHOICES`. Raises `UsageError`."""
    for choice in CHOICES:
        if choice == name:
            return choice
    raise UsageError(f"there is no toolchain '{name}'", remedy=f"choose one of: {', '.join(CHOICES)}")


# The first CUDA major with a whole nvcc on PyPI; of CUDA 12 there is only ptxas.
_PYPI_SINCE = 13
# Room for the download (105-125 MB) and the installed tree (271 MB for 13.0), with some to spare.
_TOOLKIT_ROOM = 600_000_000


@dataclass(frozen=True)
class Toolchain:
    """A toolkit that compiles for a cell, and the host compiler beside it."""

    kind: Literal["system", "pypi"]
    nvcc: Nvcc
    host: HostCompiler
    stubs: Path  # holds a libcuda.so to link against where no driver is

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
) -> Toolchain:
    """The toolchain for a cell that has a toolkit. ``auto``: the machine's own where its release fits, else PyPI's.

    Raises `BuildError` if the toolkit cannot be had, cannot compile one of the cell's targets, or no host compiler is
    there.
    """
    check_targets(cell)
    release = _release(cell)
    host = host_compiler(environ)
    nvcc, refusal = _system(choice, cell, environ, usual)
    if nvcc is not None and refusal is None:
        return Toolchain("system", nvcc, host, _stubs(nvcc.home, host, environ, notify))
    if choice == "system":
        raise refusal or BuildError("no toolkit")
    if not on_pypi(release):
        raise _not_on_pypi(cell, refusal)
    if refusal is not None:
        notify(f"{refusal.what}; taking CUDA {release} from PyPI")
    home = _from_pypi(release, host, environ, notify)
    return Toolchain("pypi", describe(home, environ, "PyPI"), host, home / "lib64" / "stubs")


def reason_against(
    choice: Choice, cell: Cell, environ: Mapping[str, str], usual: Path = Path("/usr/local/cuda")
) -> str | None:
    """Why no toolchain can be had here for a cell; None if one can. Downloads nothing."""
    try:
        check_targets(cell)
        host_compiler(environ)
        _, refusal = _system(choice, cell, environ, usual)
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
    wrong = [target for target in map(parse_target, cell.targets) if not table.compiles(target)]
    if not wrong:
        return
    nearby = {str(target): nearest(target, table.release) for target in wrong}
    advice = [f"{near} in the place of {name}" if near else f"leave {name} out" for name, near in nearby.items()]
    raise BuildError(
        f"CUDA {table.release} cannot compile {', '.join(nearby)}",
        where=cell.id,
        remedy=f"declare {', '.join(advice)}" if all(nearby.values()) else ", ".join(advice),
    )


def _release(cell: Cell) -> str:
    if cell.toolkit is None:
        raise BuildError("this cell has no CUDA toolkit", where=cell.id)
    return cell.toolkit


def _system(
    choice: Choice, cell: Cell, environ: Mapping[str, str], usual: Path
) -> tuple[Nvcc | None, BuildError | None]:
    """The machine's nvcc, and why it will not do for the cell, if it will not."""
    release = _release(cell)
    if choice == "pypi":
        return None, None
    remedy = f"set CUDA_HOME to a CUDA {release} toolkit" + (", or take --toolchain pypi" if on_pypi(release) else "")
    try:
        nvcc = system_nvcc(environ, usual)
    except BuildError as error:
        return None, error
    if nvcc is None:
        what = f"there is no nvcc here (looked in CUDA_HOME, {usual}, PATH), and the cell needs CUDA {release}"
        return None, BuildError(what, where=cell.id, remedy=remedy)
    if nvcc.release != release:
        what = f"nvcc of {nvcc.home} (by {nvcc.found}) is CUDA {nvcc.release}, and the cell needs {release}"
        return nvcc, BuildError(what, where=cell.id, remedy=remedy)
    return nvcc, None


def _not_on_pypi(cell: Cell, refusal: BuildError | None) -> BuildError:
    release = _release(cell)
    found = f": {refusal.what}" if refusal else ""
    image = cell.image or f"an image with CUDA {release}"
    return BuildError(
        f"CUDA {release} cannot be had here, since PyPI has no nvcc of CUDA {release.split('.')[0]}{found}",
        where=cell.id,
        remedy=f"set CUDA_HOME to a CUDA {release} toolkit (like /usr/local/cuda-{release}), "
        f"or run fatwheel inside {image}",
    )


def _from_pypi(release: str, host: HostCompiler, environ: Mapping[str, str], notify: Notify) -> Path:
    place = cache_root(environ) / "toolkits" / f"cuda-{release}-{platform.machine()}"
    inner = Path("nvidia") / f"cu{toolkit(release).version[0]}"

    def make(temporary: Path) -> None:
        scratch = temporary / ".scratch"
        scratch.mkdir()
        clean = clean_python(environ)
        run_pip(
            own_pip(scratch, clean),
            ["install", "--quiet", "--no-compile", "--only-binary=:all:", "--target", str(temporary),
             f"cuda-toolkit[nvcc,cccl,cudart]=={release}.*"],
            what=f"CUDA {release} from PyPI (some 120 MB, once)",
            environ=clean,
            cwd=scratch,
            notify=notify,
        )  # fmt: skip
        home = temporary / inner
        if not (home / "bin" / "nvcc").is_file():
            raise BuildError(
                f"PyPI's CUDA {release} came without {inner}/bin/nvcc", remedy="set CUDA_HOME to a toolkit of your own"
            )
        _complete(home, host, environ)
        nvcc = describe(home, environ, "PyPI")
        if nvcc.release != release:
            raise BuildError(
                f"PyPI's cuda-toolkit {release} holds nvcc {nvcc.version}",
                remedy="set CUDA_HOME to a toolkit of your own",
            )
        shutil.rmtree(scratch)

    return made_once(place, make, needs=_TOOLKIT_ROOM, what=f"CUDA {release}", notify=notify) / inner


def _complete(home: Path, host: HostCompiler, environ: Mapping[str, str]) -> None:
    """What NVIDIA's wheels lack for a CUDA_HOME: lib64, libcudart.so, and a libcuda.so to link against."""
    if not (home / "lib64").exists():
        (home / "lib64").symlink_to("lib")
    link = home / "lib" / "libcudart.so"
    if not link.exists():
        link.symlink_to(next(home.glob("lib/libcudart.so.*")).name)
    _stub_libcuda(home / "lib" / "stubs", host, environ)


def _stub_libcuda(folder: Path, host: HostCompiler, environ: Mapping[str, str]) -> None:
    """An empty library of the driver's name: linking asks for -lcuda, and a build machine has no driver."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        host.path,
        "-shared",
        "-Wl,-soname,libcuda.so.1",
        "-o",
        str(folder / "libcuda.so"),
        "-x",
        "c",
        "/dev/null",
    ]
    output = bytearray()
    if run_group(command, env=environ, cwd=folder, sink=output.extend) != 0:
        said = output.decode(errors="replace").strip().splitlines()[-3:]
        raise BuildError(
            f"the host compiler cannot make a library: {' / '.join(said)}", remedy=f"check {host.path} by hand"
        )


def _stubs(home: Path, host: HostCompiler, environ: Mapping[str, str], notify: Notify) -> Path:
    """The toolkit's own stubs, else fatwheel's."""
    for folder in (home / "lib64" / "stubs", home / "lib" / "stubs"):
        if (folder / "libcuda.so").exists():
            return folder
    place = cache_root(environ) / "toolkits" / f"stubs-{platform.machine()}"
    return made_once(
        place, lambda temporary: _stub_libcuda(temporary, host, environ), needs=1_000_000, what="a stub", notify=notify
    )
