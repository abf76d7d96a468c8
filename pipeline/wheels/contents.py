"""What is in a wheel's members: digest, ELF headers and device code, each member read once, several at a time."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from pipeline.wheels import elf, fatbin
from pipeline.wheels.archive import Archive, Member
from pipeline.wheels.deflating import workers
from pipeline.wheels.sources import Malformed, Source, blocks
from pipeline.wheels.zipformat import STORED

MEMORY = 2 << 30  # bytes that unpacked members may take together, unless one alone takes more

FaultKind = Literal["member-unreadable", "elf-unreadable", "fat-binary-unreadable"]


@dataclass(frozen=True)
class Fault:
    """Why a member, or a part of what it says, could not be read."""

    kind: FaultKind
    what: str


@dataclass(frozen=True)
class Contents:
    """One member. ``sha256`` is empty unless asked for; ``entries`` is its device code."""

    member: Member
    sha256: bytes = b""
    elf: elf.Elf | None = None
    entries: tuple[fatbin.Entry, ...] = ()
    fault: Fault | None = None

    @property
    def is_module(self) -> bool:
        """Whether it is a host library or program, or holds device code."""
        return bool(self.entries) or (self.elf is not None and self.elf.machine != elf.CUDA)


@dataclass
class _Memory:
    """So many bytes at once, or one holder alone."""

    limit: int
    used: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def hold(self, size: int) -> Iterator[None]:
        with self.changed:
            self.changed.wait_for(lambda: not self.used or self.used + size <= self.limit)
            self.used += size
        try:
            yield
        finally:
            with self.changed:
                self.used -= size
                self.changed.notify_all()


def examine(archive: Archive, members: Iterable[Member], *, digests: bool) -> list[Contents]:
    """Read members in as many threads as pay; the answers come in the order of ``members``.

    The largest come first, or as they lie in the archive where that is how it is best read.
    """
    wanted = list(members)
    memory = _Memory(MEMORY)
    order = sorted(range(len(wanted)), key=lambda at: wanted[at].header if archive.in_order else -wanted[at].size)
    with ThreadPoolExecutor(workers()) as pool:
        running = {at: pool.submit(_examine, archive, wanted[at], memory, digests) for at in order}
        try:
            return [running[at].result() for at in range(len(wanted))]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _examine(archive: Archive, member: Member, memory: _Memory, digest: bool) -> Contents:
    try:
        magic = archive.head(member, 4)
        if magic in (elf.MAGIC, fatbin.MAGIC):
            with memory.hold(0 if member.method == STORED else member.size), archive.contents(member) as source:
                if member.method == STORED and digest:
                    sha256 = _digest(archive.chunks(member))
                else:
                    sha256 = _digest(blocks(source)) if digest else b""
                return look(source, member, sha256)
        return Contents(member, _digest(archive.chunks(member)) if digest else b"")
    except Malformed as error:
        return Contents(member, fault=Fault("member-unreadable", error.what))


def _digest(pieces: Iterable[bytes | memoryview]) -> bytes:
    hashed = hashlib.sha256()
    for piece in pieces:
        hashed.update(piece)
    return hashed.digest()


def look(source: Source, member: Member, sha256: bytes = b"") -> Contents:
    """What a source that begins as an ELF file or a fat binary holds."""
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
