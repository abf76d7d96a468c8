"""A bounded cache of blocks over bytes that are far away, so that many small reads become few requests."""

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
DIRECT = 4 << 20  # bytes; a longer read is one request of its own and leaves no blocks behind
AHEAD = 64  # blocks that are fetched at once at most where reads follow one another

Fetch = Callable[[int, int, BinaryIO], None]
"""Write exactly so many bytes from an offset to a file, or raise."""


class BlockCache:
    """A `Source` of ``size`` bytes which ``fetch`` brings. Safe to read from several threads.

    Blocks are counted back from the end, of which ``tail`` holds the last bytes: an archive's directory is there.
    """

    def __init__(self, size: int, fetch: Fetch, tail: bytes = b"") -> None:
        self._size = size
        self._fetch = fetch
        self._shift = -size % BLOCK  # the first block is short
        self._lock = threading.Lock()
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._coming: dict[int, Future[bytes]] = {}
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
        """The number of blocks."""
        return (self._size + self._shift) // BLOCK

    def _block(self, offset: int) -> int:
        return (offset + self._shift) // BLOCK

    def _bounds(self, block: int) -> tuple[int, int]:
        return max(0, block * BLOCK - self._shift), (block + 1) * BLOCK - self._shift

    def read(self, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes. Raises `Malformed` past the end, and what ``fetch`` raises."""
        check_within(self, offset, length)
        if not length:
            return b""
        return self._far(offset, length) if length > DIRECT else self._near(offset, length)

    def _far(self, offset: int, length: int) -> bytes:
        """A long read: only its first and last bytes may be here already."""
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

    def _near(self, offset: int, length: int) -> bytes:
        """A short read: what is not here is fetched in whole blocks, once, whoever else asks for them."""
        wanted = range(self._block(offset), self._block(offset + length - 1) + 1)
        found: dict[int, bytes | Future[bytes]] = {}
        with self._lock:
            for block in wanted:
                if block in self._blocks:
                    self._blocks.move_to_end(block)
                    found[block] = self._blocks[block]
                elif block in self._coming:
                    found[block] = self._coming[block]
            runs = self._claim([block for block in wanted if block not in found])
            found |= {block: self._coming[block] for block in wanted if block not in found}
        for at, run in enumerate(runs):
            try:
                self._bring(run)
            except BaseException as error:
                self._give_up([block for left in runs[at:] for block in left], error)
                raise
        parts = {block: held if isinstance(held, bytes) else held.result() for block, held in found.items()}
        start, _ = self._bounds(wanted[0])
        return b"".join(parts[block] for block in wanted)[offset - start : offset - start + length]

    def _claim(self, missing: list[int]) -> list[range]:
        """Neighbouring blocks as one run each, which this thread brings; the last is longer the more follow it."""
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
                stop in self._blocks or stop in self._coming
            ):
                stop += 1
            runs[-1] = range(last.start, stop)
            self._next = stop
        self._coming |= {block: Future() for run in runs for block in run}
        return runs

    def _bring(self, run: range) -> None:
        begin, end = self._bounds(run.start)[0], self._bounds(run.stop - 1)[1]
        buffer = io.BytesIO()
        self._fetch(begin, end - begin, buffer)
        data = buffer.getvalue()
        with self._lock:
            for block in run:
                start, stop = self._bounds(block)
                self._blocks[block] = data[start - begin : stop - begin]
                self._coming.pop(block).set_result(self._blocks[block])
            while len(self._blocks) > KEPT:
                self._blocks.popitem(last=False)

    def _give_up(self, blocks: list[int], error: BaseException) -> None:
        with self._lock:
            for block in blocks:
                if future := self._coming.pop(block, None):
                    future.set_exception(error)
