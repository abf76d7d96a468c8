"""Placeholders: real wheels of any size with nothing in them, for rehearsing a release without compiling."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fatwheel.errors import UsageError
from fatwheel.records.base import atomic_file
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import STAMP
from fatwheel.wheels.formats import zipformat
from fatwheel.wheels.formats.metadata import Fields, write_metadata, write_wheel_file
from fatwheel.wheels.formats.names import WheelName
from fatwheel.wheels.formats.record import Line, spelt, write_record
from fatwheel.wheels.formats.zipformat import STORED, Row, When
from fatwheel.wheels.io import compression

_FILLERS = range(8)  # bytes that METADATA is lengthened by, where the digits of a size skip the one that would fit
_STRIDE = 64 << 20  # bytes between the states of SHA-256 that are kept
_POLYNOMIAL = 0xEDB88320  # of CRC-32, lowest power first


def placeholder(
    out_dir: Path,
    wheel_name: str,
    *,
    stamp: EmbeddedMetadata,
    size: int,
    import_name: str | None = None,
    metadata: Fields | None = None,
) -> Path:
    """Write a wheel called ``wheel_name`` of exactly ``size`` bytes, which installers accept, and return its path.

    All but a few hundred bytes are zeros that take no room on a disk that knows sparse files. With ``import_name`` it
    holds a package of that name with ``__version__``. The stamp is marked as a placeholder's. Raises `UsageError` when
    ``size`` is too small for a wheel.
    """
    name = WheelName.parse(wheel_name)
    stamp = stamp.model_copy(update={"placeholder": True})
    date = zipformat.when()
    folder = import_name or name.dist_info
    package = {f"{import_name}/__init__.py": f'__version__ = "{name.version}"\n'.encode()} if import_name else {}
    least = 0
    for filler in _FILLERS:
        described: Fields = {
            **(metadata or {}),
            "Description": "A placeholder: there is no code in it.\n" + "\n" * filler,
        }
        texts = {
            **package,
            f"{name.dist_info}/METADATA": write_metadata(name, stamp.distribution, described),
            f"{name.dist_info}/WHEEL": write_wheel_file(name),
            f"{name.dist_info}/{STAMP}": stamp.to_json().encode(),
        }
        layout = _Layout(f"{folder}/placeholder.bin", texts, f"{name.dist_info}/RECORD", date)
        zeros, least = layout.zeros(size), least or layout.total(0)
        if zeros is not None:
            return _write(out_dir / wheel_name, layout, zeros)
    raise UsageError(
        f"a placeholder of {size} bytes cannot be made",
        where=wheel_name,
        help=f"ask for at least {least} bytes",
    )


@dataclass(frozen=True)
class _Layout:
    """A wheel that begins with a member of zeros, nothing compressed, so that its size can be told beforehand."""

    padding: str
    texts: dict[str, bytes]
    record: str
    date: When

    def row(self, zeros: int, crc: int = 0) -> Row:
        """The member of zeros."""
        return Row(self.padding, zeros, zeros, crc, STORED, executable=False, offset=0)

    def tail(self, row: Row, digest: str) -> bytes:
        """All that follows the zeros."""
        offset = len(row.local_header(self.date)) + row.size
        rows, lines = [row], [Line(row.name, digest, str(row.size))]
        parts: list[bytes] = []

        def add(name: str, data: bytes) -> None:
            nonlocal offset
            one = Row(name, len(data), len(data), compression.checksum(data), STORED, executable=False, offset=offset)
            rows.append(one)
            parts.extend((one.local_header(self.date), data))
            offset += len(parts[-2]) + len(data)

        for name, data in self.texts.items():
            lines.append(Line(name, spelt(hashlib.sha256(data).digest()), str(len(data))))
            add(name, data)
        add(self.record, write_record([*lines, Line(self.record, "", "")]))
        return b"".join(parts) + zipformat.directory(rows, offset, self.date)

    def total(self, zeros: int) -> int:
        """Bytes of the whole wheel."""
        row = self.row(zeros)
        return len(row.local_header(self.date)) + zeros + len(self.tail(row, spelt(bytes(32))))

    def zeros(self, size: int) -> int | None:
        """How many zeros make a wheel of ``size`` bytes; None if no number does."""
        guess = size - self.total(0)
        for _ in range(8):  # the overhead grows in few steps: a digit more in RECORD, 64-bit fields
            if guess < 0:
                return None
            over = self.total(guess) - size
            if not over:
                return guess
            guess -= over
        return None


def _write(path: Path, layout: _Layout, zeros: int) -> Path:
    row = layout.row(zeros, crc_of_zeros(zeros))
    with atomic_file(path) as file:
        file.write(row.local_header(layout.date))
        file.seek(zeros, os.SEEK_CUR)
        file.write(layout.tail(row, spelt(sha256_of_zeros(zeros))))
    return path


def sha256_of_zeros(count: int) -> bytes:
    """The digest of ``count`` zero bytes."""
    strides, rest = divmod(count, _STRIDE)
    for number in range(strides):
        _hashed(number)
    hashed = _hashed(strides).copy()
    hashed.update(bytes(rest))
    return hashed.digest()


@cache
def _hashed(strides: int) -> hashlib._Hash:
    """The state after so many strides of zeros; kept, since the wheels of one rehearsal share most of theirs."""
    if not strides:
        return hashlib.sha256()
    hashed, block = _hashed(strides - 1).copy(), bytes(1 << 20)
    for _ in range(_STRIDE // len(block)):
        hashed.update(block)
    return hashed


def crc_of_zeros(count: int) -> int:
    """The CRC-32 of ``count`` zero bytes, without going through them: each multiplies the register by x to the 8th."""
    register, power = 0xFFFFFFFF, 1 << (31 - 8)
    while count:
        if count & 1:
            register = _product(register, power)
        power, count = _product(power, power), count >> 1
    return register ^ 0xFFFFFFFF


def _product(one: int, other: int) -> int:
    """The product of two polynomials over two elements, modulo that of CRC-32; bit 31 is the coefficient of 1."""
    total = 0
    for bit in range(31, -1, -1):
        if one >> bit & 1:
            total ^= other
        other = other >> 1 ^ (_POLYNOMIAL if other & 1 else 0)
    return total
