"""What is in a wheel's members: digest, ELF headers and device code, each member read once, several at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from fatwheel.digests import raw_digest
from fatwheel.wheels.formats import elf, fatbin
from fatwheel.wheels.formats.zipformat import STORED
from fatwheel.wheels.io.byte_sources import Malformed, blocks
from fatwheel.wheels.io.compression import workers
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.member import Contents, Fault, Member, look

__all__ = ["Contents", "examine"]

MEMORY = 2 << 30  # bytes that members, packed and unpacked, may take together, unless one alone takes more


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
            with (
                memory.hold(0 if member.method == STORED else member.size + member.stored),
                archive.contents(member) as source,
            ):
                if member.method == STORED and digest:
                    sha256 = raw_digest(archive.chunks(member))
                else:
                    sha256 = raw_digest(blocks(source)) if digest else b""
                return look(source, member, sha256)
        return Contents(member, raw_digest(archive.chunks(member)) if digest else b"")
    except Malformed as error:
        return Contents(member, fault=Fault("member-unreadable", error.what))
