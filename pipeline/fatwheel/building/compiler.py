"""The host compiler and nvcc, as they are found: their places, and what they say of themselves."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fatwheel.building.engine import HOST, Engine
from fatwheel.errors import BuildError
from fatwheel.processes import NOT_STARTED


@dataclass(frozen=True)
class Nvcc:
    """An nvcc: its CUDA_HOME, its release (13.0) and full version (13.0.88), and how it was found."""

    home: Path
    release: str
    version: str
    found: str  # CUDA_HOME, /usr/local/cuda, PATH

    @property
    def path(self) -> Path:
        """The program."""
        return self.home / "bin" / "nvcc"


@dataclass(frozen=True)
class HostCompiler:
    """A C++ compiler and the first line of its ``--version``."""

    path: str
    version: str


def host_compiler(environ: Mapping[str, str], *, engine: Engine = HOST, name: str | None = None) -> HostCompiler:
    """What nvcc will call: ``name``, else ``$NVCC_CCBIN``, else g++ on PATH. Raises `BuildError` if there is none."""
    wanted = name or environ.get("NVCC_CCBIN") or "g++"
    place = Path(wanted) / "g++" if "/" in wanted and engine.has(Path(wanted) / "g++") else Path(wanted)
    found = engine.which(str(place), environ)
    if found is None:
        plain = wanted.endswith("g++") and "/" not in wanted
        raise BuildError(
            f"there is no host C++ compiler: '{wanted}' is not on PATH" if plain else f"NVCC_CCBIN: no '{wanted}'",
            help=_install(wanted),
        )
    said = _ask([found, "--version"], environ, engine)
    return HostCompiler(found, said.splitlines()[0] if said.strip() else "unknown")


def _install(name: str) -> str:
    cross = re.fullmatch(r"(\w+)-linux-gnu-g\+\+", name)
    if cross:
        return f"install g++-{cross[1].replace('_', '-')}-linux-gnu (Debian and Ubuntu: apt-get install it)"
    return "install g++ (Debian and Ubuntu: apt-get install g++; Fedora and RHEL: dnf install gcc-c++)"


def system_nvcc(
    environ: Mapping[str, str], usual: Path = Path("/usr/local/cuda"), *, engine: Engine = HOST
) -> Nvcc | None:
    """The nvcc of CUDA_HOME, else of ``usual``, else on PATH. Raises `BuildError` if that does not answer."""
    home = environ.get("CUDA_HOME")
    if home:
        if not engine.has(Path(home) / "bin" / "nvcc"):
            raise BuildError(
                f"CUDA_HOME is {home}, and there is no bin/nvcc in it", help="set CUDA_HOME to a toolkit, or unset it"
            )
        return describe(Path(home), environ, "CUDA_HOME", engine=engine)
    if engine.has(usual / "bin" / "nvcc"):
        return describe(usual, environ, str(usual), engine=engine)
    found = engine.which("nvcc", environ)
    if not found:
        return None
    return describe(_top(found, environ, engine), environ, "PATH", program=found, engine=engine)


def describe(
    home: Path, environ: Mapping[str, str], found: str, program: str | None = None, *, engine: Engine = HOST
) -> Nvcc:
    """Ask the nvcc of a CUDA_HOME for its release. Raises `BuildError` if that is not an nvcc that runs."""
    program = program or str(home / "bin" / "nvcc")
    said = _ask([program, "--version"], environ, engine)
    release = re.search(r"release (\d+\.\d+)", said)
    if not release:
        last = said.strip().splitlines()[-1:] or ["nothing"]
        raise BuildError(
            f"{program} does not say which release it is; it says: {last[0]}",
            help="set CUDA_HOME to a CUDA toolkit, or take --toolchain pypi",
        )
    full = re.search(r"\bV(\d+\.\d+\.\d+)", said)
    return Nvcc(home, release[1], full[1] if full else release[1], found)


def _top(program: str, environ: Mapping[str, str], engine: Engine) -> Path:
    """The toolkit that an nvcc on PATH belongs to, which may be a wrapper elsewhere: it names it in a dry run."""
    said = _ask([program, "--dryrun", "-x", "cu", "-c", "/dev/null"], environ, engine)
    top = re.search(r"^#\$ TOP=(.+)$", said, re.MULTILINE)
    return Path(os.path.normpath(top[1].strip())) if top else Path(program).parent.parent


def _ask(command: list[str], environ: Mapping[str, str], engine: Engine) -> str:
    answer = engine.ask(command, env=environ)
    if answer.status in (None, NOT_STARTED):
        why = answer.tail if answer.status == NOT_STARTED else answer.ended
        raise BuildError(f"'{command[0]}' does not answer: {why}", help="check that it runs by hand")
    return answer.output + answer.errors
