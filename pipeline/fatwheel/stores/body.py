"""The content of one asset, which can be sent several times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

CHUNK = 1 << 20
"""Bytes in one read. Measured: with a Content-Length, reads of 1 MiB are the fastest for httpx, in constant memory."""


class Chunked(Protocol):
    """Content that can be read several times."""

    def chunks(self) -> Iterator[bytes]:
        """Yield the content from its start."""


def _silent(_count: int) -> None:
    return None


class Body:
    """Content of ``size`` bytes that can be sent again: each iteration reads it from its start.

    It deliberately has no ``read`` and no ``fileno``: httpx sends file objects more slowly, and cannot rewind them.
    ``watch`` is called after each chunk with the number of bytes read so far; an exception in it ends the iteration.
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
