"""A bounded block cache over a slow source, which turns many small reads into few requests."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import BinaryIO

from fatwheel.wheels.io.byte_sources import check_within

BLOCK = 64 << 10  # bytes
KEPT = 256  # blocks: 16 MiB
DIRECT = 4 << 20  # bytes; a longer read is one request and is not cached
AHEAD = 64  # blocks fetched at once for sequential reads, at most

Fetch = Callable[[int, int, BinaryIO], None]
"""Offset, length and a file -> writes exactly these bytes to the file, or raises."""


class BlockCache:
    """A `Source` of ``size`` bytes that reads through ``fetch``. Safe to use from several threads.

    Blocks are aligned to the end, because the directory of an archive is there; ``tail`` are known last bytes.
    """

    def __init__(self, size: int, fetch: Fetch, tail: bytes = b"") -> None:
        self._size = size
        self._fetch = fetch
        self._shift = -size % BLOCK  # the first block is short
        self._lock = threading.Lock()
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._pending: dict[int, Future[bytes]] = {}
        self._next = -1  # the block after the last request
        self._ahead = 1
        for block in range(self._block(size - len(tail)), self._end):
            start, end = self._bounds(block)
            if start >= size - len(tail):
                self._blocks[block] = tail[start - size + len(tail) : end - size + len(tail)]

    @property
    def size(self) -> int:
        return self._size

    @property
    def _end(self) -> int:
        """Number of blocks."""
        return (self._size + self._shift) // BLOCK

    def _block(self, offset: int) -> int:
        return (offset + self._shift) // BLOCK

    def _bounds(self, block: int) -> tuple[int, int]:
        return max(0, block * BLOCK - self._shift), (block + 1) * BLOCK - self._shift

    def read(self, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes. Raises `Malformed` past the end, and the errors of ``fetch``."""
        check_within(self, offset, length)
        if not length:
            return b""
        return self._read_long(offset, length) if length > DIRECT else self._read_short(offset, length)

    def _read_long(self, offset: int, length: int) -> bytes:
        """A long read, of which only the first and last blocks may be cached."""
        first, last = self._block(offset), self._block(offset + length - 1)
        with self._lock:
            start = first
            while start in self._blocks and start <= last:
                start += 1
            stop = last
            while stop in self._blocks and stop > start:
                stop -= 1
            held = {block: self._blocks[block] for block in (*range(first, start), *range(stop + 1, last + 1))}
        begin, end = offset, offset + length
        buffer = io.BytesIO()
        for block in range(first, start):
            self._copy(held[block], block, begin, end, buffer)
        here = begin + buffer.tell()
        there = end if stop == last else self._bounds(stop)[1]
        if there > here:
            self._fetch(here, there - here, buffer)
        for block in range(stop + 1, last + 1):
            self._copy(held[block], block, begin, end, buffer)
        return buffer.getvalue()

    def _copy(self, data: bytes, block: int, begin: int, end: int, buffer: BinaryIO) -> None:
        start, _ = self._bounds(block)
        buffer.write(data[max(0, begin - start) : end - start])

    def _read_short(self, offset: int, length: int) -> bytes:
        """A short read: missing blocks are fetched whole, and only once for all threads."""
        needed = range(self._block(offset), self._block(offset + length - 1) + 1)
        found: dict[int, bytes | Future[bytes]] = {}
        with self._lock:
            for block in needed:
                if block in self._blocks:
                    self._blocks.move_to_end(block)
                    found[block] = self._blocks[block]
                elif block in self._pending:
                    found[block] = self._pending[block]
            runs = self._claim([block for block in needed if block not in found])
            found |= {block: self._pending[block] for block in needed if block not in found}
        for at, run in enumerate(runs):
            try:
                self._fetch_run(run)
            except BaseException as error:
                self._give_up([block for left in runs[at:] for block in left], error)
                raise
        parts = {block: held if isinstance(held, bytes) else held.result() for block, held in found.items()}
        start, _ = self._bounds(needed[0])
        return b"".join(parts[block] for block in needed)[offset - start : offset - start + length]

    def _claim(self, missing: list[int]) -> list[range]:
        """Adjacent blocks as runs for this thread to fetch; the last run grows while reads are sequential."""
        runs: list[range] = []
        for block in missing:
            if runs and runs[-1].stop == block:
                runs[-1] = range(runs[-1].start, block + 1)
            else:
                runs.append(range(block, block + 1))
        if runs:
            self._ahead = min(AHEAD, self._ahead * 2) if runs[0].start == self._next else 1
            last = runs[-1]
            stop = last.stop
            while stop < min(self._end, last.start + self._ahead) and not (
                stop in self._blocks or stop in self._pending
            ):
                stop += 1
            runs[-1] = range(last.start, stop)
            self._next = stop
        self._pending |= {block: Future() for run in runs for block in run}
        return runs

    def _fetch_run(self, run: range) -> None:
        begin, end = self._bounds(run.start)[0], self._bounds(run.stop - 1)[1]
        buffer = io.BytesIO()
        self._fetch(begin, end - begin, buffer)
        data = buffer.getvalue()
        with self._lock:
            for block in run:
                start, stop = self._bounds(block)
                self._blocks[block] = data[start - begin : stop - begin]
                self._pending.pop(block).set_result(self._blocks[block])
            while len(self._blocks) > KEPT:
                self._blocks.popitem(last=False)

    def _give_up(self, blocks: list[int], error: BaseException) -> None:
        with self._lock:
            for block in blocks:
                if future := self._pending.pop(block, None):
                    future.set_exception(error)
