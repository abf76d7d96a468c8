"""One member of a wheel, or a standalone file: its directory entry, ELF headers and device code."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import Literal

from fatwheel.wheels.formats import elf, fatbin
from fatwheel.wheels.io.byte_sources import Malformed, Source

# Deflate reaches 1032:1, on one repeated byte. Libraries with emptied fat binaries reach 100:1.
BOMB_RATIO, BOMB_BYTES = 300, 64 << 20


@dataclass(frozen=True)
class Member:
    """One file or folder in the archive. ``size`` (declared) and ``stored`` (compressed) in bytes."""

    name: str
    size: int
    stored: int
    crc: int
    method: int
    flags: int
    mode: int
    header: int  # offset of its local header

    @property
    def is_folder(self) -> bool:
        return self.name.endswith("/")

    @property
    def is_special(self) -> bool:
        """Whether it is a symbolic link, a device or the like."""
        return stat.S_IFMT(self.mode) not in (0, stat.S_IFREG, stat.S_IFDIR)

    @property
    def is_bomb(self) -> bool:
        """Whether its compression ratio is implausible."""
        return self.size > BOMB_BYTES and self.size > BOMB_RATIO * self.stored


FaultKind = Literal["member-unreadable", "elf-unreadable", "fat-binary-unreadable"]


@dataclass(frozen=True)
class Fault:
    """Why a member, or its headers or code, could not be read."""

    kind: FaultKind
    what: str


@dataclass(frozen=True)
class Contents:
    """One member as read. ``sha256`` is empty unless requested; ``entries`` is its device code."""

    member: Member
    sha256: bytes = b""
    elf: elf.Elf | None = None
    entries: tuple[fatbin.Entry, ...] = ()
    fault: Fault | None = None

    @property
    def is_module(self) -> bool:
        """Whether it is a host library or program, or contains device code."""
        return bool(self.entries) or (self.elf is not None and self.elf.machine != elf.CUDA)


def parse_contents(source: Source, member: Member, sha256: bytes = b"") -> Contents:
    """Read the headers and device code of a source that starts as an ELF file or a fat binary."""
    kind: FaultKind = "fat-binary-unreadable"
    headers: elf.Elf | None = None
    try:
        if source.read(0, 4) == fatbin.MAGIC:
            containers = tuple(fatbin.read_containers(source))
        else:
            kind = "elf-unreadable"
            headers = elf.read_elf(source)
            kind = "fat-binary-unreadable"
            containers = fatbin.read_code(source, headers)
    except Malformed as error:
        return Contents(member, sha256, headers, fault=Fault(kind, error.what))
    return Contents(member, sha256, headers, tuple(entry for one in containers for entry in one.entries))
