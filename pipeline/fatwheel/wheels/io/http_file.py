"""A file at a URL as a source: HTTP range requests bring what is read, and little more."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self
from urllib.parse import unquote

from fatwheel.errors import UsageError
from fatwheel.wheels.io.block_cache import BLOCK, BlockCache
from fatwheel.wheels.io.http_ranges import RemoteFailure, Requests, shown, split

if TYPE_CHECKING:
    import httpx

TAIL = 2 * BLOCK  # bytes of the first request: the directory of an archive of a thousand members


@dataclass(frozen=True)
class _State:
    """What tells one state of a file from another."""

    size: int
    etag: str
    modified: str

    @property
    def condition(self) -> str:
        """What `If-Range` takes; empty where nothing fits: a weak ETag says nothing of bytes."""
        return self.etag if self.etag.startswith('"') else self.modified

    def differs(self, other: _State) -> bool:
        """Whether the file is another one. An answer to `If-Range` may leave out what it has already agreed to."""
        pairs = ((self.etag, other.etag), (self.modified, other.modified))
        return self.size != other.size or any(here != there for here, there in pairs if here and there)


def name_at(url: str) -> str:
    """The last part of a URL's path, decoded: ``demo-1.0+cu130-py3-none-any.whl``. Raises `UsageError`."""
    name = unquote(split(url).path.rpartition("/")[2])
    if not name or not name.isprintable():
        raise UsageError("no file is named at the end of its path", where=shown(url), help="give the URL of a file")
    return name


class RemoteFile:
    """A `Source` over HTTP ranges, in flat memory. Raises `RemoteFailure`. Safe to read from several threads.

    A file that changes in the meantime is a failure too; so is a server whose answers do not fit the questions.
    """

    def __init__(self, url: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self.name = name_at(url)
        self._requests = Requests(url, sleep)
        try:
            self._state, tail = self._open()
        except BaseException:
            self._requests.close()
            raise
        self._cache = BlockCache(self._state.size, self._fetch, tail)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._requests.close()

    @property
    def size(self) -> int:
        return self._state.size

    @property
    def fetched(self) -> int:
        """Bytes that have come so far."""
        return self._requests.fetched

    @property
    def requests(self) -> int:
        """How many were sent so far, redirects and failed ones among them."""
        return self._requests.count

    def read(self, offset: int, length: int) -> bytes:
        return self._cache.read(offset, length)

    def _open(self) -> tuple[_State, bytes]:
        """The file's state and its last bytes; without them where a server knows no ranges that count from the end."""
        for span in (f"bytes=-{TAIL}", f"bytes=0-{BLOCK - 1}"):
            found = self._requests.patiently(partial(self._first, span))
            if found:
                return found
        raise self._requests.failure("the server does not send parts of files")

    def _first(self, span: str) -> tuple[_State, bytes] | None:
        data = BytesIO()
        with self._requests.get(span) as answer:
            length = answer.headers.get("content-length", "")
            if answer.status_code == 206:
                start, end, size = self._span(answer)
            elif answer.status_code == 200 and length.isdecimal() and int(length) <= TAIL:
                start, end, size = 0, int(length), int(length)  # small enough to be taken whole
            elif answer.status_code == 416 and answer.headers.get("content-range") == "bytes */0":
                return _state(answer, 0), b""
            else:
                return None
            if end == size and end - start <= TAIL:
                self._requests.take(answer, end - start, data)
            elif start:
                raise self._requests.failure(f"the server sent bytes {start} to {end - 1} of {size}, not the last")
            return _state(answer, size), data.getvalue()

    def _fetch(self, offset: int, length: int, into: BinaryIO) -> None:
        """Bring bytes; after a break, go on from where it was."""
        start = into.tell()

        def rest() -> None:
            done = into.tell() - start
            if done < length:
                self._range(offset + done, offset + length, into)

        self._requests.patiently(rest, into.tell)

    def _range(self, offset: int, end: int, into: BinaryIO) -> None:
        with self._requests.get(f"bytes={offset}-{end - 1}", self._state.condition) as answer:
            if answer.status_code == 206:
                span = self._span(answer)
                if self._state.differs(_state(answer, span[2])):
                    raise self._changed()
                if span[:2] != (offset, end):
                    sent = f"bytes {span[0]} to {span[1] - 1}, where {offset} to {end - 1} were asked for"
                    raise self._requests.failure(f"the server sent {sent}")
                self._requests.take(answer, end - offset, into)
                return
            length = answer.headers.get("content-length", "")
            now = _state(answer, int(length) if length.isdecimal() else self.size)
            if answer.status_code == 416 or (answer.status_code == 200 and self._state.differs(now)):
                raise self._changed()
            raise self._requests.failure(f"the server no longer sends parts of the file ({answer.status_code})")

    def _changed(self) -> RemoteFailure:
        return self._requests.failure("the file changed while it was read", "try again")

    def _span(self, answer: httpx.Response) -> tuple[int, int, int]:
        """First byte, end and the whole file's size of a 206."""
        told = answer.headers.get("content-range", "")
        match = re.fullmatch(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", told.strip(), re.ASCII | re.IGNORECASE)
        if not match:
            raise self._requests.failure(f"the server sent a part without saying which of how much ('{told}')")
        start, end, size = int(match[1]), int(match[2]) + 1, int(match[3])
        if not start < end <= size:
            raise self._requests.failure(f"the server sent a part that cannot be ('{told}')")
        return start, end, size


def _state(answer: httpx.Response, size: int) -> _State:
    return _State(size, answer.headers.get("etag", ""), answer.headers.get("last-modified", ""))
