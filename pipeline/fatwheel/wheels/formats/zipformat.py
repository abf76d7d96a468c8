"""The zip format, as far as writing a wheel needs it: headers as bytes."""

from __future__ import annotations

import os
import re
import stat
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fatwheel.errors import UsageError

STORED, DEFLATED = 0, 8

_FULL = 0xFFFFFFFF  # in a 32-bit field: the value is in the zip64 extra field
# Bytes. A header is written before the compressed size is known, and deflate may lengthen incompressible data.
_ZIP64_FROM = _FULL - (32 << 20)
_EPOCH = 315_532_800  # 1980-01-01, the first zip date
_LAST = 4_354_819_198  # 2107-12-31 23:59:58, the last one


@dataclass(frozen=True)
class ZipDate:
    """A date and time in the zip format: two 16-bit numbers, with a resolution of 2 seconds, in UTC here."""

    date: int
    time: int


def get_member_date(environment: Mapping[str, str] = os.environ) -> ZipDate:
    """The date of every member: ``SOURCE_DATE_EPOCH`` (seconds), else 1980-01-01. Raises `UsageError` if invalid."""
    text = environment.get("SOURCE_DATE_EPOCH") or str(_EPOCH)
    if not re.fullmatch(r"\s*[0-9]{1,99}\s*", text):
        raise UsageError(f"invalid SOURCE_DATE_EPOCH '{text}'", help="set it to a number of seconds, or unset it")
    year, month, day, hour, minute, second, *_ = time.gmtime(min(max(int(text), _EPOCH), _LAST))
    return ZipDate((year - 1980) << 9 | month << 5 | day, hour << 11 | minute << 5 | second // 2)


@dataclass(frozen=True)
class DirectoryEntry:
    """A member as the archive's directory lists it. Sizes in bytes."""

    name: str
    size: int
    stored: int
    crc: int
    method: int
    executable: bool
    offset: int

    @property
    def is_large(self) -> bool:
        """Whether its sizes need 64 bits."""
        return self.size >= _ZIP64_FROM or self.stored >= _FULL

    @property
    def _flags(self) -> int:
        return 0 if self.name.isascii() else 0x800

    def encode_local_header(self, date: ZipDate) -> bytes:
        """The header before its data."""
        name = self.name.encode()
        extra = struct.pack("<HHQQ", 1, 16, self.size, self.stored) if self.is_large else b""
        size, stored = (_FULL, _FULL) if self.is_large else (self.size, self.stored)
        return (
            struct.pack(
                "<4sHHHHHIIIHH",
                b"PK\3\4",
                45 if self.is_large else 20,
                self._flags,
                self.method,
                date.time,
                date.date,
                self.crc,
                stored,
                size,
                len(name),
                len(extra),
            )
            + name
            + extra
        )

    def encode_directory_header(self, date: ZipDate) -> bytes:
        """Its entry in the archive's directory."""
        name = self.name.encode()
        wide: list[int] = [self.size, self.stored] if self.is_large else []
        if far := self.offset >= _FULL:
            wide.append(self.offset)
        extra = struct.pack(f"<HH{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
        mode = stat.S_IFREG | (0o755 if self.executable else 0o644)
        return (
            struct.pack(
                "<4sBBHHHHHIIIHHHHHII",
                b"PK\1\2",
                45 if wide else 20,
                3,  # made on Unix, so that the mode is used
                45 if wide else 20,
                self._flags,
                self.method,
                date.time,
                date.date,
                self.crc,
                _FULL if self.is_large else self.stored,
                _FULL if self.is_large else self.size,
                len(name),
                len(extra),
                0,
                0,
                0,
                mode << 16,
                _FULL if far else self.offset,
            )
            + name
            + extra
        )


def encode_directory(entries: Sequence[DirectoryEntry], offset: int, date: ZipDate) -> bytes:
    """The end of an archive: the directory of ``entries``, to be written at ``offset``."""
    headers = b"".join(entry.encode_directory_header(date) for entry in entries)
    count, size = len(entries), len(headers)
    wide = b""
    if count >= 0xFFFF or size >= _FULL or offset >= _FULL:
        wide = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, offset)
        wide += struct.pack("<4sIQI", b"PK\6\7", 0, offset + size, 1)
    numbers = min(count, 0xFFFF), min(count, 0xFFFF), min(size, _FULL), min(offset, _FULL)
    return headers + wide + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, *numbers, 0)
