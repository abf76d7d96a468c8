"""The host compiler and nvcc, as they are found: their places, and what they say of themselves."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import BuildError

_ANSWER = 60  # seconds that a compiler has to print its version


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


def host_compiler(environ: Mapping[str, str]) -> HostCompiler:
    """What nvcc will call: ``$NVCC_CCBIN``, else g++ on PATH. Raises `BuildError` if there is none."""
    name = environ.get("NVCC_CCBIN") or "g++"
    place = Path(name) / "g++" if Path(name).is_dir() else Path(name)
    found = shutil.which(str(place), path=environ.get("PATH"))
    if found is None:
        raise BuildError(
            f"there is no host C++ compiler: '{name}' is not on PATH" if name == "g++" else f"NVCC_CCBIN: no '{name}'",
            remedy="install g++ (Debian and Ubuntu: apt-get install g++; Fedora and RHEL: dnf install gcc-c++)",
        )
    said = _ask([found, "--version"], environ)
    return HostCompiler(found, said.splitlines()[0] if said.strip() else "unknown")


def system_nvcc(environ: Mapping[str, str], usual: Path = Path("/usr/local/cuda")) -> Nvcc | None:
    """The nvcc of CUDA_HOME, else of ``usual``, else on PATH. Raises `BuildError` if that does not answer."""
    home = environ.get("CUDA_HOME")
    if home:
        if not (Path(home) / "bin" / "nvcc").is_file():
            raise BuildError(
                f"CUDA_HOME is {home}, and there is no bin/nvcc in it", remedy="set CUDA_HOME to a toolkit, or unset it"
            )
        return describe(Path(home), environ, "CUDA_HOME")
    if (usual / "bin" / "nvcc").is_file():
        return describe(usual, environ, str(usual))
    found = shutil.which("nvcc", path=environ.get("PATH"))
    return describe(_top(found, environ), environ, "PATH", program=found) if found else None


def describe(home: Path, environ: Mapping[str, str], found: str, program: str | None = None) -> Nvcc:
    """Ask the nvcc of a CUDA_HOME for its release. Raises `BuildError` if that is not an nvcc that runs."""
    program = program or str(home / "bin" / "nvcc")
    said = _ask([program, "--version"], environ)
    release = re.search(r"release (\d+\.\d+)", said)
    if not release:
        last = said.strip().splitlines()[-1:] or ["nothing"]
        raise BuildError(
            f"{program} does not say which release it is; it says: {last[0]}",
            remedy="set CUDA_HOME to a CUDA toolkit, or take --toolchain pypi",
        )
    full = re.search(r"\bV(\d+\.\d+\.\d+)", said)
    return Nvcc(home, release[1], full[1] if full else release[1], found)


def _top(program: str, environ: Mapping[str, str]) -> Path:
    """The toolkit that an nvcc on PATH belongs to, which may be a wrapper elsewhere: it names it in a dry run."""
    said = _ask([program, "--dryrun", "-x", "cu", "-c", "/dev/null"], environ)
    top = re.search(r"^#\$ TOP=(.+)$", said, re.MULTILINE)
    return Path(top[1].strip()).resolve() if top else Path(program).resolve().parent.parent


def _ask(command: list[str], environ: Mapping[str, str]) -> str:
    try:
        answer = subprocess.run(
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_ANSWER,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"'{command[0]}' does not answer: {error}", remedy="check that it runs by hand") from error
    return answer.stdout.decode(errors="replace")
