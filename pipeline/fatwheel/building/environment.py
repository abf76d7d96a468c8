"""A package's own Python for its builds: a virtual environment with what it requires, made once and kept."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from fatwheel.building.cache import Notify, cache_root, get_or_create
from fatwheel.building.engine import HOST, Engine
from fatwheel.building.pip import NO_RETRIES, DownloadRetries, make_venv, run_pip
from fatwheel.declaration.model import Build
from fatwheel.errors import BuildError
from fatwheel.plan.requirements import fill_requirements
from fatwheel.pythons import clean_python
from fatwheel.records.plan import Cell

# A CPU build of PyTorch with what it needs is 1 GB installed and 0.3 GB to download; without requirements: 1 MB.
_ROOM = 1_500_000_000
_ROOM_EMPTY = 20_000_000
_NEWEST_FIRST = ("3.13", "3.12", "3.11", "3.10", "3.9")  # of an image, where no axis says which


def build_python(
    build: Build,
    cell: Cell,
    *,
    environ: Mapping[str, str],
    notify: Notify,
    engine: Engine = HOST,
    retries: DownloadRetries = NO_RETRIES,
) -> Path:
    """The interpreter of an environment with the package's requirements.

    It is kept in fatwheel's cache under a name that follows from the requirements, the Python, the CPU and the image,
    so that equal needs share one. Raises `BuildError`, with pip's own words where pip fails.
    """
    requires, no_deps = fill_requirements(build.requires, cell), fill_requirements(build.no_deps, cell)
    base = base_python(cell, environ, engine)
    version = _version_of(base, environ, engine)
    wishes = {"requires": requires, "no_deps": no_deps, "python": version, "machine": engine.arch}
    if engine.image:
        wishes["image"] = engine.image.digest or engine.image.name
    key = hashlib.sha256(json.dumps(wishes, sort_keys=True).encode()).hexdigest()[:16]
    place = cache_root(environ) / "environments" / f"py{'.'.join(version.split('.')[:2])}-{key}"
    clean = clean_python(environ)

    def make(temporary: Path) -> None:
        wanted = bool(requires or no_deps)
        python = make_venv(base, temporary / "env", pip=wanted, environ=clean, engine=engine)
        for options, requirements in (([], requires), (["--no-deps"], no_deps)):
            if requirements:
                run_pip(
                    python,
                    ["install", "--quiet", *options, "--", *requirements],
                    what=f"the build environment of {cell.package}: {', '.join(requirements)}",
                    environ=clean,
                    cwd=temporary,
                    notify=notify,
                    engine=engine,
                    retries=retries,
                )
        _rehome(temporary / "env", place / "env")

    room = _ROOM if requires or no_deps else _ROOM_EMPTY
    get_or_create(place, make, needs=room, what=f"the build environment of {cell.package}", notify=notify)
    return place / "env" / "bin" / "python"


def base_python(cell: Cell, environ: Mapping[str, str], engine: Engine = HOST) -> str:
    """The Python that the cell's axis ``python`` names, found on PATH or where manylinux images keep theirs.

    Without such an axis this process's own; in a container the newest that it has.
    """
    wanted = cell.axes.get("python")
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if engine.image is None and wanted in (None, here):
        return sys.executable
    for version in [wanted] if wanted else _NEWEST_FIRST:
        nodot, release = version.replace(".", ""), version.removesuffix("t")  # 3.13t: free-threaded
        for name in (f"python{version}", f"/opt/python/cp{release.replace('.', '')}-cp{nodot}/bin/python"):
            found = engine.which(name, environ)
            if found and _version_of(found, environ, engine).startswith(f"{release}."):
                return found
    place = f"the image {engine.image.name}" if engine.image else "PATH"
    raise BuildError(
        f"there is no Python {wanted or '3'} here",
        where=cell.id,
        help=f"install it, so that python{wanted or '3'} is on {place}"
        if not engine.image
        else f"take an image that has it; {place} has none",
    )


def _version_of(python: str, environ: Mapping[str, str], engine: Engine) -> str:
    """The full version of an interpreter; empty if it does not run, as a version manager's shim may not."""
    if python == sys.executable and engine.image is None:
        return platform.python_version()
    command = [python, "-c", "import platform; print(platform.python_version())"]
    answer = engine.ask(command, env=environ)
    return answer.output.strip() if answer.status == 0 else ""


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
            help="require a PyTorch of that CUDA, or a CPU build of it",
        )
