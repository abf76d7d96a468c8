"""Find the host compiler and nvcc, and query their versions."""

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
    """An nvcc: its CUDA_HOME, release (13.0) and full version (13.0.88), and where it was found."""

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
    """Return the compiler that nvcc will call: ``name``, else ``$NVCC_CCBIN``, else g++. Raises `BuildError`."""
    requested = name or environ.get("NVCC_CCBIN") or "g++"
    place = Path(requested) / "g++" if "/" in requested and engine.has(Path(requested) / "g++") else Path(requested)
    found = engine.which(str(place), environ)
    if found is None:
        plain = requested.endswith("g++") and "/" not in requested
        raise BuildError(
            f"host C++ compiler not found: '{requested}' is not on PATH"
            if plain
            else f"NVCC_CCBIN: '{requested}' not found",
            help=_install_hint(requested),
        )
    output = _query([found, "--version"], environ, engine)
    return HostCompiler(found, output.splitlines()[0] if output.strip() else "unknown")


def _install_hint(name: str) -> str:
    cross = re.fullmatch(r"(\w+)-linux-gnu-g\+\+", name)
    if cross:
        return f"install g++-{cross[1].replace('_', '-')}-linux-gnu (the package's name on Debian and Ubuntu)"
    return "install g++ (Debian and Ubuntu: apt-get install g++; Fedora and RHEL: dnf install gcc-c++)"


def system_nvcc(
    environ: Mapping[str, str], usual: Path = Path("/usr/local/cuda"), *, engine: Engine = HOST
) -> Nvcc | None:
    """Return the nvcc of CUDA_HOME, else of ``usual``, else on PATH, or None. Raises `BuildError` if it fails."""
    home = environ.get("CUDA_HOME")
    if home:
        if not engine.has(Path(home) / "bin" / "nvcc"):
            raise BuildError(
                f"CUDA_HOME is {home}, but it contains no bin/nvcc", help="set CUDA_HOME to a CUDA toolkit, or unset it"
            )
        return query_nvcc(Path(home), environ, "CUDA_HOME", engine=engine)
    if engine.has(usual / "bin" / "nvcc"):
        return query_nvcc(usual, environ, str(usual), engine=engine)
    found = engine.which("nvcc", environ)
    if not found:
        return None
    return query_nvcc(_toolkit_folder(found, environ, engine), environ, "PATH", program=found, engine=engine)


def query_nvcc(
    home: Path, environ: Mapping[str, str], found: str, program: str | None = None, *, engine: Engine = HOST
) -> Nvcc:
    """Query the release of the nvcc in a CUDA_HOME. Raises `BuildError` if it does not run or is not nvcc."""
    program = program or str(home / "bin" / "nvcc")
    output = _query([program, "--version"], environ, engine)
    release = re.search(r"release (\d+\.\d+)", output)
    if not release:
        last = output.strip().splitlines()[-1:] or ["no output"]
        raise BuildError(
            f"{program} --version printed no CUDA release: {last[0]}",
            help="set CUDA_HOME to a CUDA toolkit, or use --toolchain pypi",
        )
    full = re.search(r"\bV(\d+\.\d+\.\d+)", output)
    return Nvcc(home, release[1], full[1] if full else release[1], found)


def _toolkit_folder(program: str, environ: Mapping[str, str], engine: Engine) -> Path:
    """Return the toolkit of an nvcc on PATH. A wrapper may be in another folder, so a dry run prints the path."""
    output = _query([program, "--dryrun", "-x", "cu", "-c", "/dev/null"], environ, engine)
    top = re.search(r"^#\$ TOP=(.+)$", output, re.MULTILINE)
    return Path(os.path.normpath(top[1].strip())) if top else Path(program).parent.parent


def _query(command: list[str], environ: Mapping[str, str], engine: Engine) -> str:
    answer = engine.ask(command, env=environ)
    if answer.status in (None, NOT_STARTED):
        why = answer.tail if answer.status == NOT_STARTED else answer.ended
        raise BuildError(f"'{command[0]}' does not run: {why}", help="check that it runs in a shell")
    return answer.output + answer.errors
