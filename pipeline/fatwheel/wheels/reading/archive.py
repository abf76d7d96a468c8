"""A wheel's zip archive: list and read its members without unpacking it."""

from __future__ import annotations

import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

from fatwheel.wheels.formats.zipformat import DEFLATED, STORED
from fatwheel.wheels.io import compression
from fatwheel.wheels.io.byte_sources import (
    BytesSource,
    FileSource,
    Malformed,
    RangeSource,
    Reader,
    Source,
    open_file,
    read_blocks,
)
from fatwheel.wheels.reading.member import BOMB_RATIO, Member

__all__ = ["Archive", "Member"]

IN_MEMORY = 1 << 30
"""Bytes; a larger compressed member is unpacked to an anonymous temporary file to read it by position."""
BOMB_TOTAL = 1 << 30  # bytes

_LOCAL = struct.Struct("<4sHHHHHIIIHH")


class Archive:
    """A wheel open for reading. Safe to use from several threads. Raises `Malformed` for an invalid zip file.

    ``in_order``: members should be read in the order of their offsets, as over a network.
    """

    def __init__(self, source: Source, name: str, *, in_order: bool = False) -> None:
        self.source = source
        self.name = name
        self.in_order = in_order
        try:
            with zipfile.ZipFile(cast("BinaryIO", Reader(source))) as archive:
                self._directory = archive.start_dir
                self.members = tuple(_make_member(info) for info in archive.infolist())
        except Malformed:
            raise
        except (zipfile.BadZipFile, struct.error, OSError, ValueError, NotImplementedError) as error:
            raise Malformed(f"invalid zip archive ({error})", where=name, help="build or download it again") from None
        self._check_for_bombs()
        self._file: BinaryIO | None = None

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a file. Raises `UsageError` if it cannot be opened, `Malformed` if it is not a zip file."""
        file = open_file(path)
        try:
            archive = cls(FileSource(file), path.name)
        except BaseException:
            file.close()
            raise
        archive._file = file
        return archive

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._file.close()

    def _check_for_bombs(self) -> None:
        """Raise `Malformed` for zip bombs: a high total ratio, or members that share bytes."""
        total = sum(member.size for member in self.members)
        if total > BOMB_TOTAL and total > BOMB_RATIO * self.source.size:
            what = f"zip bomb: {self.source.size} bytes unpack to {total}"
            raise Malformed(what, where=self.name, help="do not install it")
        end = 0
        for member in sorted(self.members, key=lambda m: m.header):
            if member.header < end:
                raise Malformed("zip bomb: members of the archive overlap", where=self.name, help="do not install it")
            end = member.header + _LOCAL.size + member.stored
        if end > self._directory:
            raise Malformed(
                "members overlap the directory of the archive", where=self.name, help="build or download it again"
            )

    @cached_property
    def by_name(self) -> dict[str, Member]:
        """Files by name; of several with one name, the last."""
        return {member.name: member for member in self.members if not member.is_folder}

    @property
    def dist_infos(self) -> tuple[str, ...]:
        """Top-level dist-info folders, sorted, without a slash."""
        tops = {member.name.split("/")[0] for member in self.members if "/" in member.name}
        return tuple(sorted(top for top in tops if top.endswith(".dist-info")))

    @property
    def dist_info(self) -> str:
        """The one dist-info folder. Raises `Malformed` unless there is exactly one."""
        found = self.dist_infos
        if len(found) != 1:
            raise Malformed(f"expected one dist-info folder, found {len(found)}", where=self.name)
        return found[0]

    def raw(self, member: Member) -> RangeSource:
        """A member's compressed bytes. Raises `Malformed` if its header and the directory differ."""
        header = self.source.read(member.header, _LOCAL.size)
        magic, _, flags, method, _, _, crc, stored, size, name_size, extra_size = _LOCAL.unpack(header)
        if magic != b"PK\3\4":
            raise Malformed("local header not found", where=member.name)
        name = self.source.read(member.header + _LOCAL.size, name_size)
        deferred = flags & 0x8  # sizes and checksum follow the data
        decoded = name.decode("utf-8" if flags & 0x800 else "cp437", "replace")
        differs = [
            what
            for what, here, there in (
                ("name", decoded, member.name),
                ("method", method, member.method),
                ("encryption", flags & 0x1, member.flags & 0x1),
                ("checksum", member.crc if deferred else crc, member.crc),
                ("stored size", member.stored if deferred or stored == 0xFFFFFFFF else stored, member.stored),
                ("size", member.size if deferred or size == 0xFFFFFFFF else size, member.size),
            )
            if here != there
        ]
        if differs:
            raise Malformed(
                f"local header and directory of the archive differ ({', '.join(differs)})", where=member.name
            )
        if member.flags & 0x1:
            raise Malformed("encrypted", where=member.name)
        if member.method not in (STORED, DEFLATED):
            raise Malformed(f"unsupported compression method {member.method}", where=member.name)
        if member.is_bomb:
            raise Malformed(f"zip bomb: {member.stored} bytes unpack to {member.size}", where=member.name)
        return RangeSource(self.source, member.header + _LOCAL.size + name_size + extra_size, member.stored)

    def head(self, member: Member, length: int) -> bytes:
        """Up to ``length`` (at most a few hundred) first bytes of a member, without verifying its checksum."""
        raw = self.raw(member)
        if member.method == STORED:
            return raw.read(0, min(length, raw.size))
        start = raw.read(0, min(raw.size, 4096))
        try:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(start, length)
        except zlib.error as error:
            raise Malformed(f"invalid deflate stream ({error})", where=member.name) from None

    def chunks(self, member: Member) -> Iterator[bytes | memoryview]:
        """A member's contents in constant memory. Raises `Malformed`, at the latest after the last chunk."""
        pieces = read_blocks(self.raw(member))
        size = crc = 0
        try:
            for piece in pieces if member.method == STORED else compression.decompress_pieces(pieces):
                size, crc = size + len(piece), compression.checksum(piece, crc)
                if size > member.size:
                    break
                yield piece
        except Malformed as error:
            raise Malformed(error.what, where=member.name) from None
        if size != member.size:
            raise Malformed(
                f"expected {member.size} bytes, found {size}{'+' if size > member.size else ''}", where=member.name
            )
        if crc != member.crc:
            raise Malformed("checksum (CRC-32) mismatch", where=member.name)

    def read(self, member: Member, limit: int = 64 << 20) -> bytes:
        """A small member's contents. Raises `Malformed`, also if it is larger than ``limit`` bytes."""
        if member.size > limit:
            raise Malformed(f"expected at most {limit} bytes, found {member.size}", where=member.name)
        return b"".join(self.chunks(member))

    def whole(self, member: Member) -> compression.Buffer:
        """A member's contents in memory, decompressed at once, which is fastest. Raises `Malformed`."""
        raw = self.raw(member)
        stored = raw.read(0, raw.size)
        try:
            data = stored if member.method == STORED else compression.decompress(stored, member.size)
        except Malformed as error:
            raise Malformed(error.what, where=member.name) from None
        if len(data) != member.size:
            raise Malformed(f"expected {member.size} bytes, found {len(data)}", where=member.name)
        if compression.checksum(data) != member.crc:
            raise Malformed("checksum (CRC-32) mismatch", where=member.name)
        return data

    @contextmanager
    def contents(self, member: Member) -> Iterator[Source]:
        """A member as a byte source: in place, in memory, or in an anonymous file. Raises `Malformed`."""
        if member.method == STORED:
            yield self.raw(member)
        elif member.size <= IN_MEMORY:
            yield BytesSource(self.whole(member))
        else:
            with tempfile.TemporaryFile() as file:
                for chunk in self.chunks(member):
                    file.write(chunk)
                file.flush()
                yield FileSource(file)


def _make_member(info: zipfile.ZipInfo) -> Member:
    return Member(
        name=info.orig_filename,
        size=info.file_size,
        stored=info.compress_size,
        crc=info.CRC,
        method=info.compress_type,
        flags=info.flag_bits,
        mode=info.external_attr >> 16,
        header=info.header_offset,
    )
