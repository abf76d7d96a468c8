"""The build environment of a package: a cached virtual environment with its build requirements."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from fatwheel.building.cache import get_or_create
from fatwheel.building.engine import HOST, Engine
from fatwheel.building.pip import NO_RETRIES, DownloadRetries, make_build_venv, run_pip_with_retries
from fatwheel.caches import cache_root
from fatwheel.declaration.model import Build
from fatwheel.errors import BuildError
from fatwheel.plan.requirements import fill_requirements
from fatwheel.pythons import clean_python
from fatwheel.records.plan import Cell
from fatwheel.retry import Notify

# Bytes of disk space. A CPU build of PyTorch with its dependencies takes about 1 GiB, and 0.3 GiB to download.
_ROOM = 1536 << 20
_ROOM_EMPTY = 20 << 20
_NEWEST_FIRST = ("3.14", "3.13", "3.12", "3.11", "3.10", "3.9")  # in an image, without an axis `python`


def build_python(
    build: Build,
    cell: Cell,
    *,
    environ: Mapping[str, str],
    notify: Notify,
    engine: Engine = HOST,
    retries: DownloadRetries = NO_RETRIES,
) -> Path:
    """Return the interpreter of an environment with the package's build requirements.

    It is cached under a key of the requirements, the Python version, the CPU and the image. Raises `BuildError`, with
    pip's last lines if pip fails.
    """
    requires, no_deps = fill_requirements(build.requires, cell), fill_requirements(build.no_deps, cell)
    base = base_python(cell, environ, engine)
    version = _version_of(base, environ, engine)
    inputs = {"requires": requires, "no_deps": no_deps, "python": version, "machine": engine.arch}
    if engine.image:
        inputs["image"] = engine.image.digest or engine.image.name
    key = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]
    place = cache_root(environ) / "environments" / f"py{'.'.join(version.split('.')[:2])}-{key}"
    clean = clean_python(environ)

    def make(temporary: Path) -> None:
        python = make_build_venv(base, temporary / "env", pip=bool(requires or no_deps), environ=clean, engine=engine)
        for options, requirements in (([], requires), (["--no-deps"], no_deps)):
            if requirements:
                run_pip_with_retries(
                    python,
                    ["install", "--quiet", *options, "--", *requirements],
                    what=f"the build environment of {cell.package}: {', '.join(requirements)}",
                    environ=clean,
                    cwd=temporary,
                    notify=notify,
                    engine=engine,
                    retries=retries,
                )
        _replace_paths(temporary / "env", place / "env")

    room = _ROOM if requires or no_deps else _ROOM_EMPTY
    get_or_create(place, make, needs=room, what=f"the build environment of {cell.package}", notify=notify)
    return place / "env" / "bin" / "python"


def base_python(cell: Cell, environ: Mapping[str, str], engine: Engine = HOST) -> str:
    """Return the Python of the cell's axis ``python``, found on PATH or where manylinux images install it.

    Without such an axis, this process's interpreter; in a container, the newest one. Raises `BuildError`.
    """
    requested = cell.axes.get("python")
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if engine.image is None and requested in (None, own):
        return sys.executable
    for version in [requested] if requested else _NEWEST_FIRST:
        nodot, release = version.replace(".", ""), version.removesuffix("t")  # 3.13t: free-threaded
        for name in (f"python{version}", f"/opt/python/cp{release.replace('.', '')}-cp{nodot}/bin/python"):
            found = engine.which(name, environ)
            if found and _version_of(found, environ, engine).startswith(f"{release}."):
                return found
    name = f"Python {requested or '3'}"
    if engine.image:
        raise BuildError(f"{name} not found in image {engine.image.name}", where=cell.id, help="use an image with it")
    raise BuildError(
        f"{name} not found", where=cell.id, help=f"install it, so that python{requested or '3'} is on PATH"
    )


def _version_of(python: str, environ: Mapping[str, str], engine: Engine) -> str:
    """Return the full version of an interpreter; empty if it does not run, e.g. a shim of a version manager."""
    if python == sys.executable and engine.image is None:
        return platform.python_version()
    command = [python, "-I", "-c", "import platform; print(platform.python_version())"]
    answer = engine.ask(command, env=environ)
    return answer.output.strip() if answer.status == 0 else ""


def _replace_paths(built: Path, final: Path) -> None:
    """Replace the temporary path by the final one in scripts and pyvenv.cfg, where pip and venv wrote it."""
    old, new = str(built).encode(), str(final).encode()
    for path in [built / "pyvenv.cfg", *(built / "bin").iterdir()]:
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 1_000_000:
            text = path.read_bytes()
            if old in text and b"\0" not in text:
                path.write_bytes(text.replace(old, new))


def torch_cuda(python: Path) -> str | None:
    """Return the CUDA release of the environment's PyTorch; None for a CPU build or without PyTorch."""
    for path in python.parent.parent.glob("lib/python*/site-packages/torch/version.py"):
        found = re.search(r"^cuda\b[^=\n]*=\s*['\"]([0-9.]+)['\"]", path.read_text(encoding="utf-8"), re.MULTILINE)
        return found[1] if found else None
    return None


def check_torch(python: Path, cell: Cell) -> None:
    """Raise `BuildError` if the environment's PyTorch is for another CUDA release than the cell."""
    release = torch_cuda(python)
    if release is not None and cell.toolkit is not None and release != cell.toolkit:
        raise BuildError(
            f"the build environment's PyTorch is for CUDA {release}, but the cell is for CUDA {cell.toolkit}",
            where=cell.id,
            help="require a PyTorch for that CUDA release, or a CPU build",
        )
