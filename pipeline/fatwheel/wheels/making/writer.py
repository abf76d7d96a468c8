"""Writing a wheel's archive: the same bytes every time, members compressed side by side, RECORD last."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.base import atomic_file
from fatwheel.wheels.formats import zipformat
from fatwheel.wheels.formats.record import Line, spelt, write_record
from fatwheel.wheels.formats.zipformat import DEFLATED, STORED, Row, When
from fatwheel.wheels.io import compression
from fatwheel.wheels.io.compression import PIECE, Buffer
from fatwheel.wheels.io.sources import blocks
from fatwheel.wheels.reading.archive import Archive, Member

LARGE = 1 << 30  # bytes; from here on a member is streamed by zlib in pieces and not held in memory
_IN_FLIGHT = 512 << 20  # bytes of small members that are held at a time


@dataclass(frozen=True)
class Item:
    """A member to compress. ``pieces`` gives its ``size`` bytes, `PIECE` at a time; ``whole``, all of them, is faster.

    ``promised`` is the digest (SHA-256) that the bytes must have, as RECORD spells it, where one is known.
    """

    name: str
    size: int
    pieces: Callable[[], Iterable[Buffer]]
    executable: bool = False
    whole: Callable[[], Buffer] | None = None
    promised: str = ""


@dataclass(frozen=True)
class Copied:
    """A member of another archive, taken as it is compressed there. ``sha256`` is of what it holds."""

    archive: Archive
    member: Member
    sha256: bytes
    renamed: str = ""

    @property
    def name(self) -> str:
        return self.renamed or self.member.name

    @property
    def executable(self) -> bool:
        return bool(self.member.mode & 0o100)


def of_bytes(name: str, data: bytes) -> Item:
    """A member held in memory."""
    return Item(name, len(data), lambda: (data[start : start + PIECE] for start in range(0, len(data), PIECE)))


def of_file(name: str, path: Path) -> Item:
    """A member on disk, read when its turn comes. Raises `UsageError` then, if the file has changed its size."""
    status = path.stat()

    def pieces() -> Iterator[bytes]:
        left = status.st_size
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                left -= len(piece)
                yield piece
        if left:
            raise UsageError("changed while it was packed", where=str(path), help="pack when the build has ended")

    return Item(name, status.st_size, pieces, bool(status.st_mode & 0o100))


def of_member(archive: Archive, member: Member, name: str, promised: str = "") -> Item:
    """A member of another archive, compressed anew when its turn comes."""

    def pieces() -> Iterator[Buffer]:
        rest = bytearray()
        for chunk in archive.chunks(member):
            rest += chunk
            while len(rest) >= PIECE:
                yield bytes(rest[:PIECE])
                del rest[:PIECE]
        if rest:
            yield bytes(rest)

    return Item(name, member.size, pieces, bool(member.mode & 0o100), lambda: archive.whole(member), promised)


Late = Callable[[Mapping[str, bytes]], Iterable[Item]]
"""Digests (SHA-256) by member name -> members that can be made only when these are known."""


def write_wheel(
    path: Path,
    items: Sequence[Item | Copied],
    *,
    record: str,
    level: int,
    large: int = LARGE,
    late: Late | None = None,
    date: When | None = None,
) -> Path:
    """Write a wheel of these members in this order, and its RECORD (a member name) at the end. Returns ``path``.

    ``level`` is 0 (store) to `deflating.HIGHEST_LEVEL`; members of ``large`` bytes and more are streamed; what ``late``
    makes comes after them; ``date`` is for every member, by default `zipformat.when`. Until all is written it has
    another name, and on any failure nothing is left of it. Raises `VerificationError` for a member that is not what it
    was promised to be.
    """
    compression.check_level(level)
    date = date or zipformat.when()
    with atomic_file(path) as file:
        body = _Body(file, level, large, date)
        body.add(items)
        if late:
            body.add(list(late(body.digests)))
        lines = [Line(row.name, spelt(body.digests[row.name]), str(row.size)) for row in body.rows]
        body.add([of_bytes(record, write_record([*lines, Line(record, "", "")]))])
        file.write(zipformat.directory(body.rows, file.tell(), date))
    return path


@dataclass
class _Body:
    """The members of an archive that is being written."""

    file: BinaryIO
    level: int
    large: int
    date: When
    rows: list[Row] = field(default_factory=list)
    digests: dict[str, bytes] = field(default_factory=dict)

    def add(self, items: Sequence[Item | Copied]) -> None:
        """Write members in this order. Raises `VerificationError` for one that is not what it was promised to be."""
        for item, ready in _prepared(items, self.level, self.large):
            row, sha256 = self._written(item, ready)
            if isinstance(item, Item) and item.promised not in ("", spelt(sha256)):
                what = "its bytes are not those that RECORD has the digest of"
                raise VerificationError(what, where=item.name, help="build or fetch the wheel again")
            self.rows.append(row)
            self.digests[row.name] = sha256

    def _written(self, item: Item | Copied, ready: _Ready | None) -> tuple[Row, bytes]:
        offset = self.file.tell()
        if isinstance(item, Copied):
            return _copy(self.file, item, self.date, offset), item.sha256
        if ready is None:
            return _stream(self.file, item, self.level, self.date, offset)
        sha256, data, row = ready
        row = replace(row, offset=offset)
        self.file.write(row.local_header(self.date))
        self.file.write(data)
        return row, sha256


_Ready = tuple[bytes, Buffer, Row]


def _prepared(items: Sequence[Item | Copied], level: int, large: int) -> Iterator[tuple[Item | Copied, _Ready | None]]:
    """Items in their order, each small one compressed, a few ahead of the one that is asked for."""
    count = compression.workers()
    with ThreadPoolExecutor(count) as pool:
        ahead: deque[tuple[Item | Copied, Future[_Ready] | None]] = deque()
        held = 0

        def take() -> tuple[Item | Copied, _Ready | None]:
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
                ahead.append(
                    (item, pool.submit(_compressed, item, level) if isinstance(item, Item) and small else None)
                )
                held += weight
            while ahead:
                yield take()
        finally:
            pool.shutdown(cancel_futures=True)


def _compressed(item: Item, level: int) -> _Ready:
    data: Buffer = item.whole() if item.whole else b"".join(item.pieces())
    if len(data) < PIECE:
        packed, sha256, crc = _packed(data, level), _sha256(data), compression.checksum(data)
    else:  # a wheel of one large library has nothing else to do meanwhile
        with ThreadPoolExecutor(1) as beside:
            digest, check = beside.submit(_sha256, data), beside.submit(compression.checksum, data)
            packed, sha256, crc = _packed(data, level), digest.result(), check.result()
    shorter = len(packed) < len(data)
    stored = packed if shorter else data
    row = Row(
        name=item.name, size=len(data), stored=len(stored), crc=crc, method=DEFLATED if shorter else STORED,
        executable=item.executable, offset=0,
    )  # fmt: skip
    return sha256, stored, row


def _packed(data: Buffer, level: int) -> Buffer:
    return compression.compress(data, level) if level and data else data


def _sha256(data: Buffer) -> bytes:
    return hashlib.sha256(data).digest()


def _stream(file: BinaryIO, item: Item, level: int, date: When, offset: int) -> tuple[Row, bytes]:
    """Write a member as it is read; its header is written again at the end, when sizes and checksum are known."""
    hashed, crc = hashlib.sha256(), 0

    def read() -> Iterator[Buffer]:
        nonlocal crc
        for piece in item.pieces():
            hashed.update(piece)
            crc = compression.checksum(piece, crc)
            yield piece

    row = Row(item.name, item.size, 0, 0, DEFLATED if level else STORED, item.executable, offset)
    file.write(row.local_header(date))
    start = file.tell()
    file.writelines(compression.compress_pieces(read(), level) if level else read())
    end = file.tell()
    row = replace(row, stored=end - start, crc=crc)
    file.seek(offset)
    file.write(row.local_header(date))
    file.seek(end)
    return row, hashed.digest()


def _copy(file: BinaryIO, item: Copied, date: When, offset: int) -> Row:
    member = item.member
    row = Row(item.name, member.size, member.stored, member.crc, member.method, item.executable, offset)
    file.write(row.local_header(date))
    file.writelines(blocks(item.archive.raw(member)))
    return row
