"""Strip debug information from libraries with the platform's `strip`, and check that device code did not change."""

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
from fatwheel.wheels.io.byte_sources import FileSource, Source, open_file, read_blocks
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.contents import Contents

_TIMEOUT = 900.0  # seconds for one library; a gigabyte takes about 10
_DEBUG = (".debug_", ".zdebug_", ".gdb_index")


@dataclass(frozen=True)
class Stripped:
    """A library without its debug information, in a temporary file. Sizes in bytes."""

    path: Path
    before: int
    size: int
    sha256: bytes


def has_debug_info(one: Contents) -> bool:
    """Whether a member is a host library or program with debug information."""
    return (
        one.elf is not None
        and one.elf.machine != elf.CUDA
        and any(section.name.startswith(_DEBUG) for section in one.elf.sections)
    )


def find_strip(architecture: str, environ: Mapping[str, str] = os.environ) -> str:
    """The program that strips libraries of a CPU architecture: ``STRIP`` if set, else from binutils or LLVM.

    Raises `UsageError` if there is none.
    """
    requested = environ.get("STRIP")
    native = "strip" if architecture == platform.machine() else None
    names = [requested] if requested else [f"{architecture}-linux-gnu-strip", native, "llvm-strip"]
    for name in names:
        found = shutil.which(name, path=environ.get("PATH")) if name else None
        if found:
            return found
    raise UsageError(
        f"no `strip` found for {architecture} libraries" if not requested else f"STRIP='{requested}' not found",
        help=f"install binutils (binutils-{architecture.replace('_', '-')}-linux-gnu) or llvm, or set STRIP",
    )


def strip_debug(archive: Archive, one: Contents, folder: Path, program: str) -> Stripped:
    """Strip one member into ``folder``. Raises `VerificationError` if the program fails or changes device code.

    Raises `UsageError` for a library with appended data, which the program would remove.
    """
    name = hashlib.sha256(one.member.name.encode()).hexdigest()
    full, bare = folder / f"{name}.full", folder / f"{name}.bare"
    with full.open("wb") as file:
        for chunk in archive.chunks(one.member):
            file.write(chunk)
    _check_nothing_appended(full, one)
    answer = processes.run(
        [program, "--strip-debug", "-o", bare, full], env=os.environ | {"LC_ALL": "C"}, timeout=_TIMEOUT
    )
    if answer.status != 0 or not bare.is_file():
        raise VerificationError(
            f"{Path(program).name} {answer.ended}\n  {answer.tail}",
            where=one.member.name,
            help="repack without --strip-debug, or set STRIP to another program",
        )
    with open_file(full) as before, open_file(bare) as after:
        if _hash_device_code(FileSource(before)) != _hash_device_code(FileSource(after)):
            raise VerificationError(
                f"{Path(program).name} changed the device code",
                where=one.member.name,
                help="set STRIP to another program",
            )
    full.unlink()
    with open_file(bare) as file:
        source = FileSource(file)
        return Stripped(bare, one.member.size, source.size, raw_digest(read_blocks(source)))


def _check_nothing_appended(full: Path, one: Contents) -> None:
    with open_file(full) as file:
        source = FileSource(file)
        end = one.elf.end if one.elf else source.size
        if any(bytes(block).strip(b"\0") for block in read_blocks(source, end)):
            raise UsageError(
                f"stripping would remove {source.size - end} bytes appended to the library",
                where=one.member.name,
                help="repack without --strip-debug",
            )


def _hash_device_code(source: Source) -> list[tuple[str, bytes]]:
    sections = elf.read_elf(source).sections
    return [
        (one.name, raw_digest(read_blocks(source, one.offset, one.offset + one.size)))
        for one in sections
        if one.name in fatbin.SECTIONS
    ]
