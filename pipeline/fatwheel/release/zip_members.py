"""Files in the zip archive of an artifact, read in place without unpacking to disk."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from fatwheel.stores.body import CHUNK

_LOCAL_HEADER = 30
"""Bytes of a zip's local file header before the name (APPNOTE 4.3.7)."""


UNREADABLE = (
    OSError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    struct.error,
)
"""The exceptions that reading a damaged, encrypted or unsupported zip archive raises."""


@dataclass(frozen=True)
class ZipMember:
    """One file in a zip archive. It can be read repeatedly. ``size`` is the uncompressed size in bytes."""

    archive: Path
    member: str
    size: int

    @property
    def name(self) -> str:
        """The file name without folders."""
        return PurePosixPath(self.member).name

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in chunks."""
        with self.open() as file:
            while chunk := file.read(CHUNK):
                yield chunk

    def read(self) -> bytes:
        """Return the whole content. Meant for small files."""
        with self.open() as file:
            return file.read()

    def open(self) -> BinaryIO:
        """Open the file for reading, seekable. A stored (uncompressed) member is read directly from the archive."""
        with zipfile.ZipFile(self.archive) as archive:
            info = archive.getinfo(self.member)
        if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:
            return cast("BinaryIO", io.BufferedReader(_Window(self.archive, info), CHUNK))
        return cast("BinaryIO", zipfile.ZipFile(self.archive).open(info))


class _Window(io.RawIOBase):
    """A range of a file, as a file object."""

    def __init__(self, path: Path, info: zipfile.ZipInfo) -> None:
        self._file = path.open("rb", buffering=0)
        self._file.seek(info.header_offset)
        name, extra = struct.unpack_from("<HH", self._file.read(_LOCAL_HEADER), 26)
        self._start = info.header_offset + _LOCAL_HEADER + name + extra
        self._size = info.file_size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        want = max(0, min(len(buffer), self._size - self._at))
        self._file.seek(self._start + self._at)
        got = self._file.readinto(memoryview(buffer)[:want]) or 0  # a slice of a bytearray would be a copy
        self._at += got
        return got

    def close(self) -> None:
        self._file.close()
        super().close()


def list_members(archive: Path) -> tuple[ZipMember, ...]:
    """Return the files of a zip archive. Raises `zipfile.BadZipFile`."""
    with zipfile.ZipFile(archive) as opened:
        return tuple(ZipMember(archive, i.filename, i.file_size) for i in opened.infolist() if not i.is_dir())
