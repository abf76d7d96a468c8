"""The template fields and the environment variables of a build command."""

from __future__ import annotations

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
from fatwheel.secret_names import is_secret
from fatwheel.targets import dotted, render, toolkit


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
    """Return the value of every field of a build command. Raises `UsageError` for a target without such a format."""
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
    glibc_stubs: Path | None,
    temporary: Path,
    epoch: int,
) -> dict[str, str]:
    """Return the environment of a build command: ``environ`` without secrets, then the toolchain's, then the package's.

    ``glibc_stubs``: folder of libraries that respect the glibc floor. ``temporary`` becomes TMPDIR and is removed with
    the build. ``epoch`` is SOURCE_DATE_EPOCH in seconds. MAX_JOBS (PyTorch), CMAKE_BUILD_PARALLEL_LEVEL and CMake's
    launchers default to the fields. Secrets are omitted since a compiler needs none and logs may be public. Raises
    `BuildError` if the toolkit does not support the compression mode.
    """
    found = {name: value for name, value in clean_python(environ).items() if not _is_hidden(declaration, name)}
    paths = [str(Path(values["python"]).parent)]
    folders = [glibc_stubs] if glibc_stubs is not None else []
    if toolchain is not None:
        paths.append(str(toolchain.home / "bin"))
        found |= {"CUDA_HOME": str(toolchain.home), "CUDA_PATH": str(toolchain.home)}
        found["LIBRARY_PATH"] = _join(":", str(toolchain.stubs), environ.get("LIBRARY_PATH"))
        if toolchain.libraries is not None:  # a cross compiler ignores LIBRARY_PATH
            folders += [toolchain.libraries, toolchain.stubs]
            headers = f"-I{toolchain.headers} -isystem {toolchain.headers}/cccl"
            found["NVCC_PREPEND_FLAGS"] = _join(" ", headers, environ.get("NVCC_PREPEND_FLAGS"))
            found |= {"NVCC_CCBIN": toolchain.host.path, "CXX": toolchain.host.path}
    if folders:  # not LIBRARY_PATH: the linker searches it after the system folders
        flags = " ".join(f"-L{folder}" for folder in folders)
        for name in ("NVCC_PREPEND_FLAGS", "LDFLAGS"):
            found[name] = _join(" ", flags, found.get(name))
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
        found["NVCC_APPEND_FLAGS"] = _join(" ", environ.get("NVCC_APPEND_FLAGS"), flags)
    own = {name: fill(template, values) for name, template in package.build.env.items()}
    empty = {name for name, template in package.build.env.items() if template == "{launcher}" and not own[name]}
    return {name: value for name, value in (found | own).items() if name not in empty}


def compression_flag(declaration: Declaration, cell: Cell) -> str:
    """Return nvcc's flag for the cell's compression mode, or an empty string. Raises `BuildError` before CUDA 12.8."""
    if cell.cuda is None or cell.toolkit is None or cell.cuda not in declaration.document.cuda:
        return ""
    mode = declaration.document.cuda[cell.cuda].compress
    supported = toolkit(cell.toolkit).has_compress_mode
    if mode is None or (mode == "none" and not supported):
        return ""
    if not supported:
        raise BuildError(
            f"nvcc {cell.toolkit} does not support --compress-mode={mode}",
            where=cell.id,
            help=f"remove `compress` from {cell.cuda}, or use CUDA 12.8 or later",
        )
    return f"--compress-mode={mode}"


def fill_command(package: Package, values: Mapping[str, str], modules: Sequence[str] | None) -> list[str]:
    """Return the package's command. Raises `UsageError` for a partial wheel if it does not use ``{modules}``."""
    templates = [*package.build.command, *package.build.env.values()]
    if modules and not any("{modules}" in template for template in templates):
        raise UsageError(
            f"cannot build a partial wheel of {package.name}: its command does not use {{modules}}",
            help="build the complete wheel, or add {modules} to its command",
        )
    return [fill(template, values) for template in package.build.command]


def _is_hidden(declaration: Declaration, name: str) -> bool:
    return name in declaration.document.secrets.values() or is_secret(name)


def _join(separator: str, *parts: str | None) -> str:
    return separator.join(part for part in parts if part)
