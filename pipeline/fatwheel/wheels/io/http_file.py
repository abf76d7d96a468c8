"""A file at a URL as a byte source, of which HTTP range requests fetch only what is read."""

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
from fatwheel.wheels.io.http_ranges import RemoteFailure, Requests, parse_url, redact_url

if TYPE_CHECKING:
    import httpx

TAIL = 2 * BLOCK  # bytes of the first request: the directory of an archive with a thousand members


@dataclass(frozen=True)
class _State:
    """What identifies one state of a file."""

    size: int
    etag: str
    modified: str

    @property
    def condition(self) -> str:
        """The value for `If-Range`; empty if there is none. A weak ETag does not identify bytes."""
        return self.etag if self.etag.startswith('"') else self.modified

    def differs(self, other: _State) -> bool:
        """Whether the file has changed. A response to `If-Range` may omit the header that matched."""
        pairs = ((self.etag, other.etag), (self.modified, other.modified))
        return self.size != other.size or any(here != there for here, there in pairs if here and there)


def parse_url_file_name(url: str) -> str:
    """The last part of a URL's path, decoded: ``demo-1.0+cu130-py3-none-any.whl``. Raises `UsageError`."""
    name = unquote(parse_url(url).path.rpartition("/")[2])
    if not name or not name.isprintable():
        raise UsageError("the URL does not end in a file name", where=redact_url(url), help="pass the URL of a file")
    return name


class RemoteFile:
    """A `Source` over HTTP ranges, in constant memory. Raises `RemoteFailure`. Safe to use from several threads.

    It also fails if the file changes while it is read, or if a response does not match its request.
    """

    def __init__(self, url: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self.name = parse_url_file_name(url)
        self._requests = Requests(url, sleep)
        try:
            self._parse_state, tail = self._open()
        except BaseException:
            self._requests.close()
            raise
        self._cache = BlockCache(self._parse_state.size, self._fetch, tail)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._requests.close()

    @property
    def size(self) -> int:
        return self._parse_state.size

    @property
    def fetched(self) -> int:
        """Bytes received so far."""
        return self._requests.fetched

    @property
    def requests(self) -> int:
        """Requests sent so far, including redirects and failures."""
        return self._requests.count

    def read(self, offset: int, length: int) -> bytes:
        return self._cache.read(offset, length)

    def _open(self) -> tuple[_State, bytes]:
        """The state of the file, and its last bytes unless the server does not support suffix ranges."""
        for span in (f"bytes=-{TAIL}", f"bytes=0-{BLOCK - 1}"):
            found = self._requests.retry(partial(self._read_end, span))
            if found:
                return found
        raise self._requests.failure("the server does not support range requests")

    def _read_end(self, span: str) -> tuple[_State, bytes] | None:
        data = BytesIO()
        with self._requests.get(span) as response:
            length = response.headers.get("content-length", "")
            if response.status_code == 206:
                start, end, size = self._parse_content_range(response)
            elif response.status_code == 200 and length.isdecimal() and int(length) <= TAIL:
                start, end, size = 0, int(length), int(length)  # small enough to read whole
            elif response.status_code == 416 and response.headers.get("content-range") == "bytes */0":
                return _parse_state(response, 0), b""
            else:
                return None
            if end == size and end - start <= TAIL:
                self._requests.take(response, end - start, data)
            elif start:
                raise self._requests.failure(f"the server sent bytes {start} to {end - 1} of {size}, not the last")
            return _parse_state(response, size), data.getvalue()

    def _fetch(self, offset: int, length: int, into: BinaryIO) -> None:
        """Fetch bytes; after an interruption, continue where it stopped."""
        start = into.tell()

        def rest() -> None:
            done = into.tell() - start
            if done < length:
                self._fetch_range(offset + done, offset + length, into)

        self._requests.retry(rest, into.tell)

    def _fetch_range(self, offset: int, end: int, into: BinaryIO) -> None:
        with self._requests.get(f"bytes={offset}-{end - 1}", self._parse_state.condition) as response:
            if response.status_code == 206:
                span = self._parse_content_range(response)
                if self._parse_state.differs(_parse_state(response, span[2])):
                    raise self._change_failure()
                if span[:2] != (offset, end):
                    sent = f"the server sent {span[0]} to {span[1] - 1}"
                    raise self._requests.failure(f"expected bytes {offset} to {end - 1}, but {sent}")
                self._requests.take(response, end - offset, into)
                return
            length = response.headers.get("content-length", "")
            now = _parse_state(response, int(length) if length.isdecimal() else self.size)
            if response.status_code == 416 or (response.status_code == 200 and self._parse_state.differs(now)):
                raise self._change_failure()
            raise self._requests.failure(
                f"the server stopped supporting range requests (status {response.status_code})"
            )

    def _change_failure(self) -> RemoteFailure:
        return self._requests.failure("the file changed while it was read", "try again")

    def _parse_content_range(self, response: httpx.Response) -> tuple[int, int, int]:
        """First byte, end and size of the whole file, from a 206 response."""
        header = response.headers.get("content-range", "")
        match = re.fullmatch(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", header.strip(), re.ASCII | re.IGNORECASE)
        if not match:
            raise self._requests.failure(f"the server sent an invalid Content-Range '{header}'")
        start, end, size = int(match[1]), int(match[2]) + 1, int(match[3])
        if not start < end <= size:
            raise self._requests.failure(f"the server sent an impossible Content-Range '{header}'")
        return start, end, size


def _parse_state(response: httpx.Response, size: int) -> _State:
    return _State(size, response.headers.get("etag", ""), response.headers.get("last-modified", ""))
