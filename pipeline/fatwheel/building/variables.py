"""What a build command is told: the fields of its templates, and its environment variables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from packaging.version import Version

from fatwheel.building.toolchain import Toolchain
from fatwheel.declaration import Declaration
from fatwheel.declaration.model import Package
from fatwheel.declaration.templates import axis_fields, fill
from fatwheel.errors import BuildError, UsageError
from fatwheel.pythons import clean_python
from fatwheel.records.build import Parallelism
from fatwheel.records.plan import Cell
from fatwheel.resources import scripts
from fatwheel.targets import dotted, render, toolkit

# Variables that hold secrets stay out of builds: a compiler needs none, and logs are public.
_SECRET = re.compile(r"(TOKEN|SECRET|SECRET_ACCESS_KEY|PASSWORD|PASSWD|CREDENTIALS|PRIVATE_KEY|API_KEY)(_|$)")


def command_fields(
    cell: Cell,
    package: Package,
    *,
    out: Path,
    source: Path,
    report: Path,
    python: Path,
    modules: Sequence[str] | None,
    parallel: Parallelism,
    launcher: str = "",
) -> dict[str, str]:
    """The value of every field that a build command may use. Raises `UsageError` for a target it cannot spell."""
    version = Version(cell.version)
    return {
        **axis_fields(cell.axes),
        "targets": render(cell.targets, package.build.spelling) if cell.targets else "",
        "covers": dotted(cell.covers),
        "local": cell.local_version or "",
        "version": cell.version,
        "full_version": cell.full_version,
        "dev": str(version.dev) if version.dev is not None else "",
        "family": cell.family or "",
        "cuda": cell.cuda or "",
        "toolkit": cell.toolkit or "",
        "arch": cell.arch or "",
        "out": str(out),
        "source": str(source),
        "report": str(report),
        "python": str(python),
        "scripts": str(scripts()),
        "modules": ",".join(modules or ()),
        "jobs": str(parallel.jobs),
        "nvcc_threads": str(parallel.nvcc_threads),
        "launcher": launcher,
    }


def environment_variables(
    declaration: Declaration,
    cell: Cell,
    package: Package,
    values: Mapping[str, str],
    *,
    environ: Mapping[str, str],
    toolchain: Toolchain | None,
    stand_ins: Path | None,
    temporary: Path,
    epoch: int,
) -> dict[str, str]:
    """The environment of a build command: what is there without secrets, then the toolchain's, then the package's.

    ``stand_ins`` holds libraries that keep to the glibc floor. ``temporary`` becomes TMPDIR, so that what a command
    leaves there goes with the build; ``epoch`` is SOURCE_DATE_EPOCH in seconds. MAX_JOBS (PyTorch's),
    CMAKE_BUILD_PARALLEL_LEVEL and CMake's launchers follow the fields, where nobody set them. Raises `BuildError` if
    the toolkit does not know the compression mode.
    """
    found = {name: value for name, value in clean_python(environ).items() if not _secret(declaration, name)}
    paths = [str(Path(values["python"]).parent)]
    folders = [stand_ins] if stand_ins is not None else []
    if toolchain is not None:
        paths.append(str(toolchain.home / "bin"))
        found |= {"CUDA_HOME": str(toolchain.home), "CUDA_PATH": str(toolchain.home)}
        found["LIBRARY_PATH"] = _joined(":", str(toolchain.stubs), environ.get("LIBRARY_PATH"))
        if toolchain.libraries is not None:  # a cross compiler does not read LIBRARY_PATH
            folders += [toolchain.libraries, toolchain.stubs]
            headers = f"-I{toolchain.headers} -isystem {toolchain.headers}/cccl"
            found["NVCC_PREPEND_FLAGS"] = _joined(" ", headers, environ.get("NVCC_PREPEND_FLAGS"))
            found |= {"NVCC_CCBIN": toolchain.host.path, "CXX": toolchain.host.path}
    if folders:  # LIBRARY_PATH would not do: the linker looks there after the system's own folders
        flags = " ".join(f"-L{folder}" for folder in folders)
        for name in ("NVCC_PREPEND_FLAGS", "LDFLAGS"):
            found[name] = _joined(" ", flags, found.get(name))
    found |= {
        "PATH": ":".join([*paths, found["PATH"]]),
        "TMPDIR": str(temporary),
        "SOURCE_DATE_EPOCH": str(epoch),
    }
    for name in ("MAX_JOBS", "CMAKE_BUILD_PARALLEL_LEVEL"):
        found.setdefault(name, values["jobs"])
    if values["launcher"]:
        for language in ("C", "CXX", "CUDA"):
            found.setdefault(f"CMAKE_{language}_COMPILER_LAUNCHER", values["launcher"])
    flags = compression_flag(declaration, cell)
    if flags:
        found["NVCC_APPEND_FLAGS"] = _joined(" ", environ.get("NVCC_APPEND_FLAGS"), flags)
    own = {name: fill(template, values) for name, template in package.build.env.items()}
    empty = {name for name, template in package.build.env.items() if template == "{launcher}" and not own[name]}
    return {name: value for name, value in (found | own).items() if name not in empty}


def compression_flag(declaration: Declaration, cell: Cell) -> str:
    """The flag of nvcc for the cell's compression mode, or nothing. Raises `BuildError` before CUDA 12.8."""
    if cell.cuda is None or cell.toolkit is None or cell.cuda not in declaration.document.cuda:
        return ""
    mode = declaration.document.cuda[cell.cuda].compress
    known = toolkit(cell.toolkit).has_compress_mode
    if mode is None or (mode == "none" and not known):
        return ""
    if not known:
        raise BuildError(
            f"nvcc {cell.toolkit} does not know --compress-mode={mode}",
            where=cell.id,
            help=f"leave compress out of {cell.cuda}, or use CUDA 12.8 or later",
        )
    return f"--compress-mode={mode}"


def filled_command(package: Package, values: Mapping[str, str], modules: Sequence[str] | None) -> list[str]:
    """The package's command. Raises `UsageError` for a slice that the command has no place for."""
    templates = [*package.build.command, *package.build.env.values()]
    if modules and not any("{modules}" in template for template in templates):
        raise UsageError(
            f"{package.name} cannot be built as a slice: its command has no {{modules}}",
            help="build it whole, or give its command a place for {modules}",
        )
    return [fill(template, values) for template in package.build.command]


def _secret(declaration: Declaration, name: str) -> bool:
    return name in declaration.document.secrets.values() or _SECRET.search(name.upper()) is not None


def _joined(separator: str, *parts: str | None) -> str:
    return separator.join(part for part in parts if part)
