"""Preflight: check before a long build what would fail at its end, and report all errors together."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fatwheel.building import product
from fatwheel.building.build_dir import BuildDir
from fatwheel.building.engine import Engine
from fatwheel.building.parallel import Machine
from fatwheel.building.toolchain import Toolchain
from fatwheel.declaration.model import Package
from fatwheel.errors import BuildError, PipelineError
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.plan import Cell
from fatwheel.retry import Notify
from fatwheel.sizes import size
from fatwheel.targets import Target, render
from fatwheel.wheels.formats.elf import read_elf
from fatwheel.wheels.io.byte_sources import BytesSource

_COMPILE = 600.0  # seconds; an empty kernel takes a third of a second for each target
_KERNEL = 'extern "C" __global__ void fatwheel_preflight() {}\n'


@dataclass(frozen=True)
class Ready:
    """A prepared build, before its command runs."""

    cell: Cell
    package: Package
    engine: Engine
    tools: Toolchain | None
    work: BuildDir
    source: Path
    licenses: list[Path]
    stamp: EmbeddedMetadata


def preflight(ready: Ready, env: Mapping[str, str], found: Machine, job_memory: int, notify: Notify) -> None:
    """Raise `BuildError` with everything that would fail this build; report low memory through ``notify``.

    ``job_memory``: bytes that one compiler is assumed to need.
    """
    if found.memory < job_memory:
        notify(
            f"warning: {size(found.memory)} of memory are free, but one compiler is assumed to need {size(job_memory)}"
        )
    wrong = [*_disk(ready), *_compiler(ready, env), *_packing(ready)]
    if len(wrong) == 1:
        raise wrong[0]
    if wrong:
        reasons = "".join(f"\n- {error.what}\n  help: {error.help}" for error in wrong)
        raise BuildError(
            f"preflight found {len(wrong)} errors that would fail this build:{reasons}", where=ready.cell.id
        )


def _disk(ready: Ready) -> Iterator[BuildError]:
    needed = ready.package.build.disk
    if needed is None:
        return
    free = shutil.disk_usage(ready.work.folder).free
    if free < needed:
        yield BuildError(
            f"the build needs {size(needed)} of disk space, but {size(free)} are free",
            where=ready.cell.id,
            help=f"free disk space in {ready.work.folder.parent}, or set TMPDIR to a folder on another disk",
        )


def _compiler(ready: Ready, env: Mapping[str, str]) -> Iterator[BuildError]:
    """Compile an empty kernel for every target, and link it with the flags of the build."""
    tools, cell = ready.tools, ready.cell
    if tools is None or not cell.targets:
        return
    folder = ready.work.temporary / "preflight"
    folder.mkdir(exist_ok=True)
    source, library = folder / "preflight.cu", folder / "preflight.so"
    source.write_text(_KERNEL, encoding="utf-8")
    targets = cell.targets
    start = [str(tools.nvcc.path), "-ccbin", tools.host.path, "-Xcompiler", "-fPIC"]

    def compile_for(requested: list[Target], *more: str) -> str:
        flags = render(requested, "nvcc").split()
        answer = ready.engine.ask([*start, *flags, *more, source.name], env=env, timeout=_COMPILE, cwd=folder)
        return "" if answer.status == 0 else answer.tail or answer.ended

    output = compile_for(targets, "-shared", "-o", library.name)
    if not output:
        yield from _architecture(ready, library)
        return
    broken = {str(one): words for one in targets if (words := compile_for([one], "-c", "-o", "one.o"))}
    words = next(iter(broken.values()), output)
    shown = "".join(f"\n  | {line[:400]}" for line in words.splitlines())
    names = f" for {' '.join(broken)}" if broken and len(broken) < len(targets) else ""
    yield BuildError(
        f"an empty kernel does not {'compile' if broken else 'link'}{names} with nvcc {tools.nvcc.version} and "
        f"{tools.host.version}:{shown}",
        where=cell.id,
        help="fix the toolchain, or use another: --toolchain pypi, --engine podman",
    )


def _architecture(ready: Ready, library: Path) -> Iterator[BuildError]:
    """Check that the host compiler generates code for the cell's CPU architecture."""
    made = read_elf(BytesSource(library.read_bytes())).architecture
    if ready.cell.arch is not None and made != ready.cell.arch:
        yield BuildError(
            f"the host compiler generates code for {made}, but the cell is for {ready.cell.arch}",
            where=ready.cell.id,
            help=f"set NVCC_CCBIN to a compiler for {ready.cell.arch}",
        )


def _packing(ready: Ready) -> Iterator[BuildError]:
    """Run everything that follows the build command, on a tiny wheel."""
    try:
        product.rehearse_packing(
            ready.work.temporary, cell=ready.cell, package=ready.package, source=ready.source, stamp=ready.stamp,
            licenses=ready.licenses,
        )  # fmt: skip
    except PipelineError as error:
        yield BuildError(error.what, where=error.where, help=error.help)
