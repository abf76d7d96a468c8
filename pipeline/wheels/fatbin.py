"""Fat binaries: the containers in which nvcc keeps machine code (SASS) and PTX, one entry a target.

NVIDIA does not document the layout. It was measured on the output of nvcc 13.0 to 13.5 and on NVIDIA's own libraries,
and agrees with cuobjdump entry by entry: a container is a header of 16 bytes (magic, version 1, header size, bytes that
follow) and entries without a terminator; an entry is a header that states its own size, and a payload. Sizes come from
the headers, so nothing is decompressed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pipeline.targets import Suffix, Target
from pipeline.wheels.elf import Elf
from pipeline.wheels.sources import BLOCK, Malformed, Source

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


@dataclass(frozen=True, slots=True)
class Entry:
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


@dataclass(frozen=True, slots=True)
class Container:
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
    start, at = offset, _skip_zeros(source, offset, offset, end)
    while at < end:
        if end - at < _CONTAINER.size:
            raise Malformed(f"{end - at} bytes at {at} are too few for a fat binary")
        magic, version, header, length = _CONTAINER.unpack(source.read(at, _CONTAINER.size))
        if magic != MAGIC:
            raise Malformed(f"bytes at {at} are no fat binary")
        if version != 1 or header < _CONTAINER.size:
            raise Malformed(f"a fat binary at {at} of unknown version {version} with a header of {header} bytes")
        stop = at + header + length
        if stop > end:
            raise Malformed(f"a fat binary at {at} claims {header + length} bytes, but {end - at} are there")
        yield Container(at, stop - at, tuple(_entries(source, at + header, stop)))
        at = _skip_zeros(source, start, stop, end)


def read_code(source: Source, elf: Elf) -> tuple[Container, ...]:
    """The containers in all the sections of an ELF file that hold fat binaries. Raises `Malformed`."""
    return tuple(
        container
        for section in elf.sections
        if section.name in SECTIONS
        for container in read_containers(source, section.offset, section.size)
    )


def _entries(source: Source, at: int, end: int) -> Iterator[Entry]:
    while at < end:
        if end - at < _ENTRY.size:
            raise Malformed(f"{end - at} bytes at {at} are too few for an entry of a fat binary")
        kind, _, header, payload, compressed, _, _, _, architecture, _, _, flags, _, uncompressed = _ENTRY.unpack(
            source.read(at, _ENTRY.size)
        )
        if header < _ENTRY.size or at + header + payload > end:
            raise Malformed(
                f"an entry at {at} claims {header} and {payload} bytes, but {end - at} are left in its fat binary"
            )
        if compressed > payload:
            raise Malformed(f"an entry at {at} claims {compressed} compressed bytes in a payload of {payload}")
        yield Entry(
            offset=at,
            header_size=header,
            code=_KINDS.get(kind, "other"),
            target=_target(architecture, flags, at),
            flags=flags,
            compression=_compression(flags) if compressed else "none",
            stored=payload,
            raw=uncompressed if compressed else payload,
        )
        at += header + payload


def _target(architecture: int, flags: int, at: int) -> Target:
    if not 10 <= architecture <= 999 or (flags & _A and flags & _F):
        raise Malformed(
            f"an entry at {at} is for architecture {architecture} with flags {flags:#x}, which is no target"
        )
    suffix: Suffix = "a" if flags & _A else "f" if flags & _F else ""
    return Target(architecture // 10, architecture % 10, suffix)


def _compression(flags: int) -> Compression:
    return "zstd" if flags & _ZSTD else "lz4" if flags & _LZ4 else "unknown"


def _skip_zeros(source: Source, start: int, at: int, end: int) -> int:
    """The first place from ``at`` that is not zero, on the alignment that containers have; ``end`` if there is none."""
    at = min(end, at + -(at - start) % ALIGNMENT)
    length = 64  # most often the next container is right there
    while at < end:
        block = source.read(at, min(length, end - at))
        rest = block.lstrip(b"\0")
        if rest:
            skipped = len(block) - len(rest)
            return at + skipped - skipped % ALIGNMENT
        at, length = at + len(block), BLOCK
    return end
