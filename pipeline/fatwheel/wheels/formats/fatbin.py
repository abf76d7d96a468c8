"""Fat binaries: the containers in which nvcc stores machine code (SASS) and PTX, one entry per target.

NVIDIA does not document the format. This description comes from the output of nvcc 13.0 to 13.5 and NVIDIA's own
libraries, and agrees with cuobjdump in every entry: a container is a header of 16 bytes (magic, version 1, header size,
number of bytes that follow) and entries without a terminator; an entry is a header that contains its own size, and a
payload. All sizes are in the headers, so nothing is decompressed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, NamedTuple

from fatwheel.targets import Suffix, Target
from fatwheel.wheels.formats.elf import Elf
from fatwheel.wheels.io.byte_sources import BLOCK, Malformed, Source

Code = Literal["sass", "ptx", "other"]
Compression = Literal["none", "lz4", "zstd", "unknown"]

MAGIC = b"\x50\xed\x55\xba"
SECTIONS = (".nv_fatbin", "__nv_relfatbin")  # whole-program code; relocatable code (-rdc=true)
ALIGNMENT = 8

_CONTAINER = struct.Struct("<4sHHQ")
# kind, version, header bytes, payload bytes, compressed bytes, offset of extra data, minor, major, architecture,
# name offset, name bytes, flags, unused, uncompressed bytes
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_KINDS: dict[int, Code] = {1: "ptx", 2: "sass"}  # others are for the linker: 8 is NVVM for link-time optimization
_LZ4, _ZSTD = 0x2000, 0x8000
_A, _F = 0x10_0000, 0x20_0000
_BUFFER = 256  # bytes to read at once, because headers are often close together


class Entry(NamedTuple):
    """Code for one target. Offsets count from the start of the source; sizes in bytes.

    ``stored`` is the size of the payload in the file, including padding; ``raw`` its uncompressed size.
    """

    offset: int
    header_size: int
    code: Code
    target: Target
    flags: int
    compression: Compression
    stored: int
    raw: int

    @property
    def payload(self) -> int:
        """Where the payload starts."""
        return self.offset + self.header_size

    @property
    def end(self) -> int:
        """Where the next entry starts."""
        return self.payload + self.stored


class Container(NamedTuple):
    """One fat binary: ``size`` bytes from ``offset``, including its header."""

    offset: int
    size: int
    entries: tuple[Entry, ...]


def read_containers(source: Source, offset: int = 0, size: int | None = None) -> Iterator[Container]:
    """The containers in ``size`` bytes from ``offset`` (default: to the end of the source), in order.

    Zeros between them are skipped. Raises `Malformed` for any other bytes, so that no code is missed.
    """
    end = source.size if size is None else offset + size
    if end > source.size:
        raise Malformed(f"truncated: fat binaries end at {end}, but the size is {source.size} bytes")
    near = _BufferedSource(source)
    start, at = offset, _skip_zeros(near, offset, offset, end)
    while at < end:
        if end - at < _CONTAINER.size:
            raise Malformed(f"{end - at} bytes at {at} are too few for a fat binary")
        magic, version, header, length = near.unpack(_CONTAINER, at)
        if magic != MAGIC:
            raise Malformed(f"expected a fat binary at {at}")
        if version != 1 or header < _CONTAINER.size:
            raise Malformed(f"the fat binary at {at} has an unknown version {version}, with a header of {header} bytes")
        stop = at + header + length
        if stop > end:
            raise Malformed(f"the fat binary at {at} has a size of {header + length} bytes, but only {end - at} follow")
        yield Container(at, stop - at, tuple(_read_entries(near, at + header, stop)))
        at = _skip_zeros(near, start, stop, end)


def read_code(source: Source, elf: Elf) -> tuple[Container, ...]:
    """The containers in all sections of an ELF file for fat binaries. Raises `Malformed`."""
    return tuple(
        container
        for section in elf.sections
        if section.name in SECTIONS
        for container in read_containers(source, section.offset, section.size)
    )


class _BufferedSource:
    """A source with a small read buffer. For one thread."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._size = source.size
        self._start = 0
        self._data = b""

    def unpack(self, layout: struct.Struct, at: int) -> tuple[Any, ...]:
        """The structure at an offset."""
        offset = at - self._start
        if offset < 0 or offset + layout.size > len(self._data):
            self._fill(at, layout.size)
            offset = 0
        return layout.unpack_from(self._data, offset)

    def read(self, at: int, length: int) -> bytes:
        """At most `_BUFFER` bytes."""
        offset = at - self._start
        if offset < 0 or offset + length > len(self._data):
            self._fill(at, length)
            offset = 0
        return self._data[offset : offset + length]

    def _fill(self, at: int, length: int) -> None:
        size = _BUFFER if at + _BUFFER <= self._size else max(length, self._size - at)
        self._data, self._start = self.source.read(at, size), at


def _read_entries(near: _BufferedSource, at: int, end: int) -> Iterator[Entry]:
    while at < end:
        if end - at < _ENTRY.size:
            raise Malformed(f"{end - at} bytes at {at} are too few for an entry of a fat binary")
        kind, _, header, payload, compressed, _, _, _, architecture, _, _, flags, _, uncompressed = near.unpack(
            _ENTRY, at
        )
        if header < _ENTRY.size or at + header + payload > end:
            raise Malformed(
                f"the entry at {at} has {header} and {payload} bytes, but only {end - at} are left in its fat binary"
            )
        if compressed > payload:
            raise Malformed(f"the entry at {at} has {compressed} compressed bytes in a payload of {payload}")
        target = _parse_target(architecture, flags & (_A | _F))
        if target is None:
            raise Malformed(
                f"the entry at {at} has an unknown target: architecture {architecture} with flags {flags:#x}"
            )
        code = _KINDS.get(kind, "other")
        compression = _parse_compression(flags) if compressed else "none"
        raw = uncompressed if compressed else payload
        yield Entry(at, header, code, target, flags, compression, payload, raw)
        at += header + payload


@cache
def _parse_target(architecture: int, suffixes: int) -> Target | None:
    """The target with these numbers; None if invalid."""
    if suffixes == _A | _F or not 10 <= architecture <= 999:
        return None
    suffix: Suffix = "a" if suffixes == _A else "f" if suffixes == _F else ""
    return Target(architecture // 10, architecture % 10, suffix)


def _parse_compression(flags: int) -> Compression:
    return "zstd" if flags & _ZSTD else "lz4" if flags & _LZ4 else "unknown"


def _skip_zeros(near: _BufferedSource, start: int, at: int, end: int) -> int:
    """The first nonzero byte from ``at``, rounded down to the alignment of containers; ``end`` if there is none."""
    at = min(end, at + -(at - start) % ALIGNMENT)
    length = 64  # usually enough to find the next container
    while at < end:
        read = near.read if length <= _BUFFER else near.source.read
        block = read(at, min(length, end - at))
        if block[0]:
            return at
        if rest := block.lstrip(b"\0"):
            skipped = len(block) - len(rest)
            return at + skipped - skipped % ALIGNMENT
        at, length = at + len(block), BLOCK
    return end
