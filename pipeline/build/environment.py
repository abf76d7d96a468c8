"""A package's own Python for its builds: a virtual environment with what it requires, made once and kept."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pipeline.build.cache import Notify, cache_root, made_once
from pipeline.build.pip import make_venv, run_pip
from pipeline.declaration.model import Build
from pipeline.errors import BuildError
from pipeline.plan.requirements import filled
from pipeline.pythons import clean_python
from pipeline.records.plan import Cell

# A CPU build of PyTorch with what it needs is 1 GB installed and 0.3 GB to download; without requirements: 1 MB.
_ROOM = 1_500_000_000
_ROOM_EMPTY = 20_000_000


def build_python(build: Build, cell: Cell, *, environ: Mapping[str, str], notify: Notify) -> Path:
    """The interpreter of an environment with the package's requirements.

    It is kept in fatwheel's cache under a name that follows from the requirements, the Python and the CPU, so that
    equal needs share one. Raises `BuildError`, with pip's own words where pip fails.
    """
    requires, no_deps = filled(build.requires, cell), filled(build.no_deps, cell)
    base = base_python(cell, environ)
    version = _version_of(base, environ)
    wishes = {"requires": requires, "no_deps": no_deps, "python": version, "machine": platform.machine()}
    key = hashlib.sha256(json.dumps(wishes, sort_keys=True).encode()).hexdigest()[:16]
    place = cache_root(environ) / "environments" / f"py{'.'.join(version.split('.')[:2])}-{key}"
    clean = clean_python(environ)

    def make(temporary: Path) -> None:
        wanted = bool(requires or no_deps)
        python = make_venv(base, temporary / "env", pip=wanted, environ=clean)
        for options, requirements in (([], requires), (["--no-deps"], no_deps)):
            if requirements:
                what = f"the build environment of {cell.package}: {', '.join(requirements)}"
                run_pip(
                    python,
                    ["install", "--quiet", *options, "--", *requirements],
                    what=what,
                    environ=clean,
                    cwd=temporary,
                    notify=notify,
                )
        _rehome(temporary / "env", place / "env")

    room = _ROOM if requires or no_deps else _ROOM_EMPTY
    made_once(place, make, needs=room, what=f"the build environment of {cell.package}", notify=notify)
    return place / "env" / "bin" / "python"


def base_python(cell: Cell, environ: Mapping[str, str]) -> str:
    """The Python that the cell's axis ``python`` names, found on PATH; this one if there is no such axis."""
    wanted = cell.axes.get("python")
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if wanted is None or wanted == here:
        return sys.executable
    found = shutil.which(f"python{wanted}", path=environ.get("PATH"))
    if found is None or not _version_of(found, environ).startswith(f"{wanted}."):
        raise BuildError(
            f"there is no Python {wanted} here", where=cell.id, remedy=f"install it, so that python{wanted} is on PATH"
        )
    return found


def _version_of(python: str, environ: Mapping[str, str]) -> str:
    """The full version of an interpreter; empty if it does not run, as a version manager's shim may not."""
    if python == sys.executable:
        return platform.python_version()
    command = [python, "-c", "import platform; print(platform.python_version())"]
    answer = subprocess.run(command, env=dict(environ), capture_output=True, text=True, check=False)
    return answer.stdout.strip() if answer.returncode == 0 else ""


def _rehome(built: Path, final: Path) -> None:
    """Write the final place into what pip and venv wrote the temporary one into: scripts and pyvenv.cfg."""
    old, new = str(built).encode(), str(final).encode()
    for path in [built / "pyvenv.cfg", *(built / "bin").iterdir()]:
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 1_000_000:
            text = path.read_bytes()
            if old in text and b"\0" not in text:
                path.write_bytes(text.replace(old, new))


def torch_cuda(python: Path) -> str | None:
    """The CUDA release that the environment's PyTorch was built with; None for a CPU build and for no PyTorch."""
    for path in python.parent.parent.glob("lib/python*/site-packages/torch/version.py"):
        found = re.search(r"^cuda\b[^=\n]*=\s*['\"]([0-9.]+)['\"]", path.read_text(encoding="utf-8"), re.MULTILINE)
        return found[1] if found else None
    return None


def check_torch(python: Path, cell: Cell) -> None:
    """Raise `BuildError` if the environment's PyTorch is for another CUDA release than the cell's."""
    release = torch_cuda(python)
    if release is not None and cell.toolkit is not None and release != cell.toolkit:
        raise BuildError(
            f"the build environment's PyTorch is for CUDA {release}, and the cell is CUDA {cell.toolkit}",
            where=cell.id,
            remedy="require a PyTorch of that CUDA, or a CPU build of it",
        )
