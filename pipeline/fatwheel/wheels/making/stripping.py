"""Debug information leaves a library by the platform's own `strip`; that no device code changed is looked at."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fatwheel import processes
from fatwheel.digests import raw_digest
from fatwheel.errors import UsageError, VerificationError
from fatwheel.wheels.formats import elf, fatbin
from fatwheel.wheels.io.sources import FileSource, Source, blocks
from fatwheel.wheels.reading.archive import Archive, open_file
from fatwheel.wheels.reading.contents import Contents

_PATIENCE = 900.0  # seconds for one library; a gigabyte takes some 10
_DEBUG = (".debug_", ".zdebug_", ".gdb_index")


@dataclass(frozen=True)
class Stripped:
    """A library without its debug information, in a file of its own. Sizes in bytes."""

    path: Path
    before: int
    size: int
    sha256: bytes


def has_debug(one: Contents) -> bool:
    """Whether a member is a host library or program with debug information."""
    return (
        one.elf is not None
        and one.elf.machine != elf.CUDA
        and any(section.name.startswith(_DEBUG) for section in one.elf.sections)
    )


def find_strip(architecture: str, environ: Mapping[str, str] = os.environ) -> str:
    """The program that strips libraries of a CPU: ``STRIP`` if it is set, else binutils' or LLVM's.

    Raises `UsageError` where there is none.
    """
    wanted = environ.get("STRIP")
    native = "strip" if architecture == platform.machine() else None
    names = [wanted] if wanted else [f"{architecture}-linux-gnu-strip", native, "llvm-strip"]
    for name in names:
        found = shutil.which(name, path=environ.get("PATH")) if name else None
        if found:
            return found
    raise UsageError(
        f"no program here strips libraries of {architecture}"
        if not wanted
        else f"STRIP is '{wanted}', which is not here",
        help=f"install binutils (binutils-{architecture.replace('_', '-')}-linux-gnu) or llvm, or set STRIP",
    )


def strip_debug(archive: Archive, one: Contents, folder: Path, program: str) -> Stripped:
    """Strip one member into ``folder``. Raises `VerificationError` if the program fails or touches device code.

    Raises `UsageError` for a library with something appended, which the program would take away.
    """
    name = hashlib.sha256(one.member.name.encode()).hexdigest()
    full, bare = folder / f"{name}.full", folder / f"{name}.bare"
    with full.open("wb") as file:
        for chunk in archive.chunks(one.member):
            file.write(chunk)
    _refuse_appendix(full, one)
    answer = processes.run(
        [program, "--strip-debug", "-o", bare, full], env=os.environ | {"LC_ALL": "C"}, timeout=_PATIENCE
    )
    if answer.status != 0 or not bare.is_file():
        raise VerificationError(
            f"{Path(program).name} {answer.ended}\n  {answer.tail}",
            where=one.member.name,
            help="repack without --strip-debug, or set STRIP to another strip",
        )
    with open_file(full) as before, open_file(bare) as after:
        if _device_code(FileSource(before)) != _device_code(FileSource(after)):
            raise VerificationError(
                f"{Path(program).name} changed its device code",
                where=one.member.name,
                help="set STRIP to another strip",
            )
    full.unlink()
    with open_file(bare) as file:
        source = FileSource(file)
        return Stripped(bare, one.member.size, source.size, raw_digest(blocks(source)))


def _refuse_appendix(full: Path, one: Contents) -> None:
    with open_file(full) as file:
        source = FileSource(file)
        end = one.elf.end if one.elf else source.size
        if any(bytes(block).strip(b"\0") for block in blocks(source, end)):
            raise UsageError(
                f"{source.size - end} bytes are appended to it, which stripping would take away",
                where=one.member.name,
                help="repack without --strip-debug",
            )


def _device_code(source: Source) -> list[tuple[str, bytes]]:
    sections = elf.read_elf(source).sections
    return [
        (one.name, raw_digest(blocks(source, one.offset, one.offset + one.size)))
        for one in sections
        if one.name in fatbin.SECTIONS
    ]
