"""Write a wheel's archive: the same bytes every time, members compressed in parallel, RECORD last."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from fatwheel.atomic import atomic_file
from fatwheel.errors import UsageError, VerificationError
from fatwheel.wheels.formats import zipformat
from fatwheel.wheels.formats.record import Line, encode_digest, write_record
from fatwheel.wheels.formats.zipformat import DEFLATED, STORED, DirectoryEntry, ZipDate
from fatwheel.wheels.io import compression
from fatwheel.wheels.io.byte_sources import read_blocks
from fatwheel.wheels.io.compression import PIECE, Buffer
from fatwheel.wheels.reading.archive import Archive, Member

LARGE = 1 << 30  # bytes; members of this size or larger are streamed through zlib instead of held in memory
_IN_FLIGHT = 512 << 20  # bytes of small members held in memory at a time


@dataclass(frozen=True)
class Item:
    """A member to compress. ``pieces`` yields its ``size`` bytes, `PIECE` at a time; ``whole`` returns all, faster.

    ``recorded`` is the SHA-256 digest that the bytes must have, as in RECORD; empty if there is none to compare with.
    """

    name: str
    size: int
    pieces: Callable[[], Iterable[Buffer]]
    executable: bool = False
    whole: Callable[[], Buffer] | None = None
    recorded: str = ""


@dataclass(frozen=True)
class Copied:
    """A member of another archive, copied without decompressing it. ``sha256`` is the digest of its contents."""

    archive: Archive
    member: Member
    sha256: bytes
    name: str

    @property
    def executable(self) -> bool:
        return bool(self.member.mode & 0o100)


def item_from_bytes(name: str, data: bytes) -> Item:
    """A member from bytes in memory."""
    return Item(name, len(data), lambda: (data[start : start + PIECE] for start in range(0, len(data), PIECE)))


def item_from_file(name: str, path: Path) -> Item:
    """A member from a file, read when it is written. Raises `UsageError` then if the file has changed its size."""
    status = path.stat()

    def pieces() -> Iterator[bytes]:
        left = status.st_size
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                left -= len(piece)
                yield piece
        if left:
            raise UsageError("changed while it was packed", where=str(path), help="pack after the build has finished")

    return Item(name, status.st_size, pieces, bool(status.st_mode & 0o100))


def item_from_member(archive: Archive, member: Member, name: str, recorded: str = "") -> Item:
    """A member of another archive, to be compressed again."""

    def pieces() -> Iterator[Buffer]:
        rest = bytearray()
        for chunk in archive.chunks(member):
            rest += chunk
            while len(rest) >= PIECE:
                yield bytes(rest[:PIECE])
                del rest[:PIECE]
        if rest:
            yield bytes(rest)

    return Item(name, member.size, pieces, bool(member.mode & 0o100), lambda: archive.whole(member), recorded)


Late = Callable[[Mapping[str, bytes]], Item]
"""Makes a member from the SHA-256 digests of the others, by member name."""


def write_wheel(
    path: Path,
    items: Iterable[Item | Copied],
    *,
    dist_info: str,
    level: int,
    large: int = LARGE,
    late: Late | None = None,
    date: ZipDate | None = None,
) -> Path:
    """Write a wheel with these members, sorted with the ``dist_info`` folder last, and its RECORD. Return ``path``.

    ``level`` is 0 (store) to `compression.HIGHEST_LEVEL`; members of ``large`` bytes or more are streamed. The member
    that ``late`` makes comes last before RECORD. ``date`` is the date of every member, `zipformat.get_member_date` by
    default. The file appears under its name only when it is complete; on failure nothing is left. Raises
    `VerificationError` for a member whose digest differs from its recorded one.
    """
    compression.check_level(level)
    date = date or zipformat.get_member_date()
    info = f"{dist_info}/"
    ordered = sorted(items, key=lambda item: (item.name.startswith(info), item.name))
    with atomic_file(path) as file:
        body = _Body(file, level, large, date)
        body.add(ordered)
        if late:
            body.add([late(body.digests)])
        record = f"{info}RECORD"
        lines = [Line(entry.name, encode_digest(body.digests[entry.name]), str(entry.size)) for entry in body.entries]
        body.add([item_from_bytes(record, write_record([*lines, Line(record, "", "")]))])
        file.write(zipformat.encode_directory(body.entries, file.tell(), date))
    return path


@dataclass
class _Body:
    """The members of an archive that is being written."""

    file: BinaryIO
    level: int
    large: int
    date: ZipDate
    entries: list[DirectoryEntry] = field(default_factory=list)
    digests: dict[str, bytes] = field(default_factory=dict)

    def add(self, items: list[Item | Copied] | list[Item]) -> None:
        """Write members in this order. Raises `VerificationError` for a digest that differs from the recorded one."""
        for item, ready in _compress_ahead(items, self.level, self.large):
            entry, sha256 = self._write(item, ready)
            if isinstance(item, Item) and item.recorded not in ("", encode_digest(sha256)):
                what = "its contents do not match the digest in RECORD"
                raise VerificationError(what, where=item.name, help="build or download the wheel again")
            self.entries.append(entry)
            self.digests[entry.name] = sha256

    def _write(self, item: Item | Copied, ready: _Compressed | None) -> tuple[DirectoryEntry, bytes]:
        offset = self.file.tell()
        if isinstance(item, Copied):
            return _copy(self.file, item, self.date, offset), item.sha256
        if ready is None:
            return _stream(self.file, item, self.level, self.date, offset)
        sha256, data, entry = ready
        entry = replace(entry, offset=offset)
        self.file.write(entry.encode_local_header(self.date))
        self.file.write(data)
        return entry, sha256


_Compressed = tuple[bytes, Buffer, DirectoryEntry]


def _compress_ahead(
    items: Iterable[Item | Copied], level: int, large: int
) -> Iterator[tuple[Item | Copied, _Compressed | None]]:
    """Items in their order, small ones compressed by a few threads ahead of the item being written."""
    count = compression.count_workers()
    with ThreadPoolExecutor(count) as pool:
        ahead: deque[tuple[Item | Copied, Future[_Compressed] | None]] = deque()
        held = 0

        def take() -> tuple[Item | Copied, _Compressed | None]:
            item, future = ahead.popleft()
            return item, future.result() if future else None

        try:
            for item in items:
                small = isinstance(item, Item) and item.size < large
                weight = item.size if isinstance(item, Item) and small else 0
                while ahead and (len(ahead) > 4 * count or held + weight > _IN_FLIGHT):
                    first, ready = take()
                    held -= first.size if isinstance(first, Item) and ready else 0
                    yield first, ready
                ahead.append((item, pool.submit(_compress, item, level) if isinstance(item, Item) and small else None))
                held += weight
            while ahead:
                yield take()
        finally:
            pool.shutdown(cancel_futures=True)


def _compress(item: Item, level: int) -> _Compressed:
    data: Buffer = item.whole() if item.whole else b"".join(item.pieces())
    if len(data) < PIECE:
        deflated, sha256, crc = _deflate(data, level), _sha256(data), compression.checksum(data)
    else:  # with one large library in the wheel, the other threads are idle
        with ThreadPoolExecutor(1) as beside:
            digest, check = beside.submit(_sha256, data), beside.submit(compression.checksum, data)
            deflated, sha256, crc = _deflate(data, level), digest.result(), check.result()
    shorter = len(deflated) < len(data)
    stored = deflated if shorter else data
    entry = DirectoryEntry(
        name=item.name, size=len(data), stored=len(stored), crc=crc, method=DEFLATED if shorter else STORED,
        executable=item.executable, offset=0,
    )  # fmt: skip
    return sha256, stored, entry


def _deflate(data: Buffer, level: int) -> Buffer:
    return compression.compress(data, level) if level and data else data


def _sha256(data: Buffer) -> bytes:
    return hashlib.sha256(data).digest()


def _stream(file: BinaryIO, item: Item, level: int, date: ZipDate, offset: int) -> tuple[DirectoryEntry, bytes]:
    """Write a member as it is read, then its header again with the sizes and checksum."""
    hashed, crc = hashlib.sha256(), 0

    def read() -> Iterator[Buffer]:
        nonlocal crc
        for piece in item.pieces():
            hashed.update(piece)
            crc = compression.checksum(piece, crc)
            yield piece

    entry = DirectoryEntry(item.name, item.size, 0, 0, DEFLATED if level else STORED, item.executable, offset)
    file.write(entry.encode_local_header(date))
    start = file.tell()
    file.writelines(compression.compress_pieces(read(), level) if level else read())
    end = file.tell()
    entry = replace(entry, stored=end - start, crc=crc)
    file.seek(offset)
    file.write(entry.encode_local_header(date))
    file.seek(end)
    return entry, hashed.digest()


def _copy(file: BinaryIO, item: Copied, date: ZipDate, offset: int) -> DirectoryEntry:
    member = item.member
    entry = DirectoryEntry(item.name, member.size, member.stored, member.crc, member.method, item.executable, offset)
    file.write(entry.encode_local_header(date))
    file.writelines(read_blocks(item.archive.raw(member)))
    return entry
