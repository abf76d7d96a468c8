"""Byte sources that are read by position: memory, seekable files, and ranges of other sources."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from mmap import mmap
from pathlib import Path
from typing import BinaryIO, Protocol

from fatwheel.errors import UsageError, VerificationError

BLOCK = 1 << 20  # bytes read at a time by `read_blocks`


class Malformed(VerificationError):
    """Bytes that violate their format: truncated, corrupt, or made to mislead."""


class Source(Protocol):
    """Bytes of a known size that are read by position. Safe to use from several threads."""

    @property
    def size(self) -> int:
        """Size in bytes."""

    def read(self, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes from ``offset``. Raises `Malformed` if the source is shorter."""


def check_within(source: Source, offset: int, length: int) -> None:
    """Raise `Malformed` unless the source contains these bytes."""
    if offset < 0 or length < 0 or offset + length > source.size:
        raise Malformed(f"truncated: expected {length} bytes at {offset}, but the size is {source.size}")


class BytesSource:
    """Bytes in memory, or a memory map."""

    def __init__(self, data: bytes | bytearray | memoryview | mmap) -> None:
        self._view = memoryview(data)

    @property
    def size(self) -> int:
        return len(self._view)

    def read(self, offset: int, length: int) -> bytes:
        check_within(self, offset, length)
        return bytes(self._view[offset : offset + length])

    def view(self, offset: int, length: int) -> memoryview:
        """The same bytes without a copy."""
        check_within(self, offset, length)
        return self._view[offset : offset + length]


class FileSource:
    """A seekable binary file. The caller must not move its position, and closes it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._size = file.seek(0, os.SEEK_END)
        try:
            self._descriptor = file.fileno() if hasattr(os, "pread") else -1
        except (OSError, AttributeError):
            self._descriptor = -1

    @property
    def size(self) -> int:
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        check_within(self, offset, length)
        data = self._read(offset, length)
        if len(data) == length:
            return data
        parts = [data]  # Linux reads at most 2 GiB per call
        while data and (left := length - sum(map(len, parts))):
            data = self._read(offset + length - left, left)
            parts.append(data)
        if not data:
            raise Malformed(f"truncated at {offset} while it was read")
        return b"".join(parts)

    def _read(self, offset: int, length: int) -> bytes:
        if self._descriptor >= 0:
            return os.pread(self._descriptor, length, offset)
        with self._lock:
            self._file.seek(offset)
            return self._file.read(length)


def open_file(path: Path) -> BinaryIO:
    """Open a seekable file for reading. Raises `UsageError` if that fails."""
    try:
        file = path.open("rb")
    except OSError as error:
        help = None
        if isinstance(error, FileNotFoundError):
            help = "no file matches; build or download it first" if set("*?[") & set(str(path)) else "check the path"
        raise UsageError(f"cannot read: {os.strerror(error.errno or 0)}", where=str(path), help=help) from None
    if not file.seekable():
        file.close()
        raise UsageError("cannot read a pipe by position", where=str(path), help="write it to a file first")
    return file


class RangeSource:
    """``size`` bytes of another source from ``start``. Raises `Malformed` if the source is shorter."""

    def __init__(self, source: Source, start: int, size: int) -> None:
        check_within(source, start, size)
        self._source, self._start, self._size = source, start, size

    @property
    def size(self) -> int:
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        check_within(self, offset, length)
        return self._source.read(self._start + offset, length)


def read_blocks(source: Source, offset: int = 0, end: int | None = None) -> Iterator[bytes | memoryview]:
    """The bytes from ``offset`` to ``end`` (default: the end of the source), at most `BLOCK` at a time."""
    end = source.size if end is None else end
    for start in range(offset, end, BLOCK):
        length = min(BLOCK, end - start)
        yield source.view(start, length) if isinstance(source, BytesSource) else source.read(start, length)


class Reader(io.RawIOBase):
    """A source as a read-only file object."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._source.size}[whence]
        if base + offset < 0:
            raise OSError(f"seek to {base + offset}")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def read(self, size: int | None = -1) -> bytes:
        """At most ``size`` bytes; memory is allocated only for bytes that exist, whatever size an archive claims."""
        left = max(0, self._source.size - self._position)
        length = left if size is None or size < 0 else min(size, left)
        data = self._source.read(self._position, length)
        self._position += length
        return data
