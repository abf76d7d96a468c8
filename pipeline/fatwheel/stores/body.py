"""The bytes of one asset, as often as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

CHUNK = 1 << 20
"""Bytes in one read. Measured: 1 MiB reads with a Content-Length are the fastest way through httpx, in flat memory."""


class Chunked(Protocol):
    """Bytes that are somewhere else, as often as they are asked for."""

    def chunks(self) -> Iterator[bytes]:
        """From the first to the last."""


def _silent(_count: int) -> None:
    return None


class Body:
    """A file or other bytes that can be sent again: each iteration opens it anew and reads from its start.

    It has no ``read`` and no ``fileno`` on purpose: httpx takes a slower road for file objects, and cannot rewind
    them. ``watch`` is called with the bytes taken so far, after each chunk; what it raises ends the iteration.
    """

    def __init__(self, source: Path | bytes | Chunked, size: int, watch: Callable[[int], None] = _silent) -> None:
        self.source = source
        self.size = size
        self.watch = watch

    def __iter__(self) -> Iterator[bytes]:
        taken = 0
        for chunk in self._chunks():
            yield chunk
            taken += len(chunk)
            self.watch(taken)

    def _chunks(self) -> Iterator[bytes]:
        if isinstance(self.source, bytes):
            for start in range(0, len(self.source), CHUNK):
                yield self.source[start : start + CHUNK]
            return
        if not isinstance(self.source, Path):
            yield from self.source.chunks()
            return
        with self.source.open("rb", buffering=0) as file:
            while chunk := file.read(CHUNK):
                yield chunk
