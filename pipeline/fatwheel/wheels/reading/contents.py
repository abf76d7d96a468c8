"""Read the members of a wheel, each once and several in parallel: digests, ELF headers and device code."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from fatwheel.digests import raw_digest
from fatwheel.wheels.formats import elf, fatbin
from fatwheel.wheels.formats.zipformat import STORED
from fatwheel.wheels.io.byte_sources import Malformed, read_blocks
from fatwheel.wheels.io.compression import count_workers
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.member import Contents, Fault, Member, parse_contents

__all__ = ["Contents", "examine"]

MEMORY = 2 << 30  # bytes of memory for compressed and uncompressed members; one larger member is read alone


@dataclass
class _Memory:
    """A limit on bytes in use, which a single holder may exceed."""

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
    """Read members in parallel; the results have the order of ``members``.

    The largest are read first; with `Archive.in_order`, in the order of their offsets.
    """
    listed = list(members)
    memory = _Memory(MEMORY)
    order = sorted(range(len(listed)), key=lambda at: listed[at].header if archive.in_order else -listed[at].size)
    with ThreadPoolExecutor(count_workers()) as pool:
        running = {at: pool.submit(_examine, archive, listed[at], memory, digests) for at in order}
        try:
            return [running[at].result() for at in range(len(listed))]
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
                    sha256 = raw_digest(read_blocks(source)) if digest else b""
                return parse_contents(source, member, sha256)
        return Contents(member, raw_digest(archive.chunks(member)) if digest else b"")
    except Malformed as error:
        return Contents(member, fault=Fault("member-unreadable", error.what))
