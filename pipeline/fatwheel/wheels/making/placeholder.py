"""Placeholder wheels: installable wheels of any size without code, for rehearsing a release without compiling."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fatwheel.atomic import atomic_file
from fatwheel.errors import UsageError
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.wheels.formats import zipformat
from fatwheel.wheels.formats.metadata import Fields
from fatwheel.wheels.formats.record import Line, encode_digest, write_record
from fatwheel.wheels.formats.wheel_name import WheelName
from fatwheel.wheels.formats.zipformat import STORED, DirectoryEntry, ZipDate
from fatwheel.wheels.io import compression
from fatwheel.wheels.making.edition import write_dist_info

_FILLERS = range(8)  # bytes added to METADATA where no number of zeros gives the size, as its digits skip a value
_STRIDE = 64 << 20  # bytes between the SHA-256 states that are cached
_POLYNOMIAL = 0xEDB88320  # of CRC-32, lowest power first


def write_placeholder(
    out_dir: Path,
    wheel_name: str,
    *,
    embedded: EmbeddedMetadata,
    size: int,
    import_name: str | None = None,
    metadata: Fields | None = None,
) -> Path:
    """Write an installable wheel named ``wheel_name`` of exactly ``size`` bytes, and return its path.

    All but a few hundred bytes are zeros, which take no space on file systems with sparse files. With ``import_name``
    it contains a package of that name with ``__version__``. ``embedded`` is marked as a placeholder's. Raises
    `UsageError` if ``size`` is too small for a wheel.
    """
    name = WheelName.parse(wheel_name)
    embedded = embedded.model_copy(update={"placeholder": True})
    date = zipformat.get_member_date()
    folder = import_name or name.dist_info
    package = {f"{import_name}/__init__.py": f'__version__ = "{name.version}"\n'.encode()} if import_name else {}
    least = 0
    for filler in _FILLERS:
        described: Fields = {
            **(metadata or {}),
            "Description": "A placeholder wheel without code.\n" + "\n" * filler,
        }
        texts = package | write_dist_info(name, embedded.distribution, described, embedded=embedded)
        layout = _Layout(f"{folder}/placeholder.bin", texts, f"{name.dist_info}/RECORD", date)
        zeros, least = layout.zeros(size), least or layout.total(0)
        if zeros is not None:
            return _write(out_dir / wheel_name, layout, zeros)
    raise UsageError(
        f"cannot create a placeholder wheel of {size} bytes",
        where=wheel_name,
        help=f"choose a size of at least {least} bytes",
    )


@dataclass(frozen=True)
class _Layout:
    """A wheel that starts with a member of zeros. Nothing is compressed, so its size can be computed."""

    padding: str
    texts: dict[str, bytes]
    record: str
    date: ZipDate

    def padding_entry(self, zeros: int, crc: int = 0) -> DirectoryEntry:
        """The directory entry of the member of zeros."""
        return DirectoryEntry(self.padding, zeros, zeros, crc, STORED, executable=False, offset=0)

    def tail(self, entry: DirectoryEntry, digest: str) -> bytes:
        """Everything after the zeros."""
        offset = len(entry.encode_local_header(self.date)) + entry.size
        entries, lines = [entry], [Line(entry.name, digest, str(entry.size))]
        parts: list[bytes] = []

        def add(name: str, data: bytes) -> None:
            nonlocal offset
            one = DirectoryEntry(
                name, len(data), len(data), compression.checksum(data), STORED, executable=False, offset=offset
            )
            entries.append(one)
            parts.extend((one.encode_local_header(self.date), data))
            offset += len(parts[-2]) + len(data)

        for name, data in self.texts.items():
            lines.append(Line(name, encode_digest(hashlib.sha256(data).digest()), str(len(data))))
            add(name, data)
        add(self.record, write_record([*lines, Line(self.record, "", "")]))
        return b"".join(parts) + zipformat.encode_directory(entries, offset, self.date)

    def total(self, zeros: int) -> int:
        """Size of the wheel in bytes."""
        entry = self.padding_entry(zeros)
        return len(entry.encode_local_header(self.date)) + zeros + len(self.tail(entry, encode_digest(bytes(32))))

    def zeros(self, size: int) -> int | None:
        """Number of zeros for a wheel of ``size`` bytes; None if there is none."""
        guess = size - self.total(0)
        for _ in range(8):  # the overhead grows in a few steps: another digit in RECORD, 64-bit fields
            if guess < 0:
                return None
            over = self.total(guess) - size
            if not over:
                return guess
            guess -= over
        return None


def _write(path: Path, layout: _Layout, zeros: int) -> Path:
    entry = layout.padding_entry(zeros, crc_of_zeros(zeros))
    with atomic_file(path) as file:
        file.write(entry.encode_local_header(layout.date))
        file.seek(zeros, os.SEEK_CUR)
        file.write(layout.tail(entry, encode_digest(sha256_of_zeros(zeros))))
    return path


def sha256_of_zeros(count: int) -> bytes:
    """The SHA-256 digest of ``count`` zero bytes."""
    strides, rest = divmod(count, _STRIDE)
    for number in range(strides):
        _hash_strides(number)
    hashed = _hash_strides(strides).copy()
    hashed.update(bytes(rest))
    return hashed.digest()


@cache
def _hash_strides(strides: int) -> hashlib._Hash:
    """The SHA-256 state after this many strides of zeros; cached, as the wheels of a rehearsal share them."""
    if not strides:
        return hashlib.sha256()
    hashed, block = _hash_strides(strides - 1).copy(), bytes(1 << 20)
    for _ in range(_STRIDE // len(block)):
        hashed.update(block)
    return hashed


def crc_of_zeros(count: int) -> int:
    """The CRC-32 of ``count`` zero bytes, in logarithmic time: each byte multiplies the register by x to the 8th."""
    register, power = 0xFFFFFFFF, 1 << (31 - 8)
    while count:
        if count & 1:
            register = _multiply(register, power)
        power, count = _multiply(power, power), count >> 1
    return register ^ 0xFFFFFFFF


def _multiply(one: int, other: int) -> int:
    """The product of two polynomials over GF(2), modulo that of CRC-32; bit 31 is the coefficient of 1."""
    total = 0
    for bit in range(31, -1, -1):
        if one >> bit & 1:
            total ^= other
        other = other >> 1 ^ (_POLYNOMIAL if other & 1 else 0)
    return total
