"""Fat binaries: the containers in which nvcc keeps machine code (SASS) and PTX, one entry a target.

NVIDIA does not document the layout. It was measured on the output of nvcc 13.0 to 13.5 and on NVIDIA's own libraries,
and agrees with cuobjdump entry by entry: a container is a header of 16 bytes (magic, version 1, header size, bytes that
follow) and entries without a terminator; an entry is a header that states its own size, and a payload. Sizes come from
the headers, so nothing is decompressed.
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
_KINDS: dict[int, Code] = {1: "ptx", 2: "sass"}  # others are for the linker: 8 is NVVM for link-time optimisation
_LZ4, _ZSTD = 0x2000, 0x8000
_A, _F = 0x10_0000, 0x20_0000
_LOOK = 256  # bytes that are read at once: headers often follow one another closely


class Entry(NamedTuple):
    """Code for one target. Offsets count from the start of the source; sizes in bytes.

    ``stored`` is what the payload takes in the file, padding included; ``raw`` is what it is when not compressed.
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
    """One fat binary: ``size`` bytes from ``offset``, its header included."""

    offset: int
    size: int
    entries: tuple[Entry, ...]


def read_containers(source: Source, offset: int = 0, size: int | None = None) -> Iterator[Container]:
    """The containers in ``size`` bytes from ``offset`` (to the end of the source, if None), in their order.

    Zeros between them are passed over. Raises `Malformed` for anything else, so that no code stays uncounted.
    """
    end = source.size if size is None else offset + size
    if end > source.size:
        raise Malformed(f"cut short: fat binaries reach to {end}, but there are {source.size} bytes")
    near = _BufferedSource(source)
    start, at = offset, _skip_zeros(near, offset, offset, end)
    while at < end:
        if end - at < _CONTAINER.size:
            raise Malformed(f"{end - at} bytes at {at} are too few for a fat binary")
        magic, version, header, length = near.unpack(_CONTAINER, at)
        if magic != MAGIC:
            raise Malformed(f"bytes at {at} are no fat binary")
        if version != 1 or header < _CONTAINER.size:
            raise Malformed(f"a fat binary at {at} of unknown version {version} with a header of {header} bytes")
        stop = at + header + length
        if stop > end:
            raise Malformed(f"a fat binary at {at} claims {header + length} bytes, but {end - at} are there")
        yield Container(at, stop - at, tuple(_entries(near, at + header, stop)))
        at = _skip_zeros(near, start, stop, end)


def read_code(source: Source, elf: Elf) -> tuple[Container, ...]:
    """The containers in all the sections of an ELF file that hold fat binaries. Raises `Malformed`."""
    return tuple(
        container
        for section in elf.sections
        if section.name in SECTIONS
        for container in read_containers(source, section.offset, section.size)
    )


class _BufferedSource:
    """A source of which a little is kept of what was read last. For one thread."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._size = source.size
        self._start = 0
        self._data = b""

    def unpack(self, form: struct.Struct, at: int) -> tuple[Any, ...]:
        """The numbers at a place."""
        offset = at - self._start
        if offset < 0 or offset + form.size > len(self._data):
            self._look(at, form.size)
            offset = 0
        return form.unpack_from(self._data, offset)

    def read(self, at: int, length: int) -> bytes:
        """At most `_LOOK` bytes."""
        offset = at - self._start
        if offset < 0 or offset + length > len(self._data):
            self._look(at, length)
            offset = 0
        return self._data[offset : offset + length]

    def _look(self, at: int, length: int) -> None:
        wanted = _LOOK if at + _LOOK <= self._size else max(length, self._size - at)
        self._data, self._start = self.source.read(at, wanted), at


def _entries(near: _BufferedSource, at: int, end: int) -> Iterator[Entry]:
    while at < end:
        if end - at < _ENTRY.size:
            raise Malformed(f"{end - at} bytes at {at} are too few for an entry of a fat binary")
        kind, _, header, payload, compressed, _, _, _, architecture, _, _, flags, _, uncompressed = near.unpack(
            _ENTRY, at
        )
        if header < _ENTRY.size or at + header + payload > end:
            raise Malformed(
                f"an entry at {at} claims {header} and {payload} bytes, but {end - at} are left in its fat binary"
            )
        if compressed > payload:
            raise Malformed(f"an entry at {at} claims {compressed} compressed bytes in a payload of {payload}")
        target = _target(architecture, flags & (_A | _F))
        if target is None:
            raise Malformed(
                f"an entry at {at} is for architecture {architecture} with flags {flags:#x}, which is no target"
            )
        code = _KINDS.get(kind, "other")
        compression = _compression(flags) if compressed else "none"
        raw = uncompressed if compressed else payload
        yield Entry(at, header, code, target, flags, compression, payload, raw)
        at += header + payload


@cache
def _target(architecture: int, suffixes: int) -> Target | None:
    """The target of an entry's numbers; None if there is none such."""
    if suffixes == _A | _F or not 10 <= architecture <= 999:
        return None
    suffix: Suffix = "a" if suffixes == _A else "f" if suffixes == _F else ""
    return Target(architecture // 10, architecture % 10, suffix)


def _compression(flags: int) -> Compression:
    return "zstd" if flags & _ZSTD else "lz4" if flags & _LZ4 else "unknown"


def _skip_zeros(near: _BufferedSource, start: int, at: int, end: int) -> int:
    """The first place from ``at`` that is not zero, on the alignment that containers have; ``end`` if there is none."""
    at = min(end, at + -(at - start) % ALIGNMENT)
    length = 64  # most often the next container is right there
    while at < end:
        read = near.read if length <= _LOOK else near.source.read
        block = read(at, min(length, end - at))
        if block[0]:
            return at
        if rest := block.lstrip(b"\0"):
            skipped = len(block) - len(rest)
            return at + skipped - skipped % ALIGNMENT
        at, length = at + len(block), BLOCK
    return end
