"""HTTP range requests for one file, with redirects, errors and retries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, BinaryIO, TypeVar
from urllib.parse import SplitResult, urlsplit

from fatwheel import __version__
from fatwheel.certificates import is_untrusted_certificate
from fatwheel.errors import UsageError
from fatwheel.retry import call_with_retries

if TYPE_CHECKING:
    import httpx

DOWNLOAD = "download the file and pass its path"
ATTEMPTS = 5  # in a row without progress
LONGEST_WAIT = 60.0  # seconds
_FIRST_WAIT = 0.5  # seconds; doubled each time
_CONNECT, _READ = 10.0, 30.0  # seconds
_REDIRECTS = 10
_MOVED = frozenset({301, 302, 303, 307, 308})
_EXPIRED = frozenset({401, 403, 404, 410})  # responses of an expired redirect target
_ADVICE = {
    401: "fatwheel sends no credentials, so the file must be public; otherwise " + DOWNLOAD,
    403: "fatwheel sends no credentials, so the file must be public; otherwise " + DOWNLOAD,
    404: "check the URL",
    410: "check the URL",
}

Found = TypeVar("Found")


class RemoteFailure(UsageError):
    """A file at a URL could not be read, or the server does not support ranges."""


class _TransientError(Exception):
    """A failure to retry. ``wait`` is the delay that the server requested, in seconds."""

    def __init__(self, what: str, wait: float | None = None) -> None:
        super().__init__(what)
        self.wait = wait


class Requests:
    """Requests for one URL, which raise `RemoteFailure`. No credentials are accepted or sent.

    ``fetched`` counts the bytes of response bodies; ``count`` the requests, including redirects and failures. Safe to
    use from several threads.
    """

    def __init__(self, url: str, sleep: Callable[[float], None] = time.sleep) -> None:
        import httpx

        self.where = redact_url(url)
        self.fetched = self.count = 0
        self._url = self._current = url
        self._sleep = sleep
        self._check(url, "")
        self._client = httpx.Client(
            timeout=httpx.Timeout(_READ, connect=_CONNECT),
            headers={"User-Agent": f"fatwheel/{__version__}", "Accept": "*/*", "Accept-Encoding": "identity"},
            follow_redirects=False,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def failure(self, what: str, help: str = DOWNLOAD) -> RemoteFailure:
        """The exception to raise for this URL."""
        return RemoteFailure(what, where=self.where, help=help)

    @contextmanager
    def get(self, span: str, condition: str = "") -> Iterator[httpx.Response]:
        """The response for a range like ``bytes=0-99``, before its body; ``condition`` is the value of `If-Range`.

        Call it within `retry` only. The target of a redirect is reused until it fails.
        """
        import httpx

        headers = {"Range": span} | ({"If-Range": condition} if condition else {})
        start = url = self._current
        try:
            for _ in range(_REDIRECTS + 1):
                self.count += 1
                with self._client.stream("GET", url, headers=headers) as response:
                    if response.status_code in _MOVED:
                        url = self._next(response, url)
                        continue
                    if response.status_code in _EXPIRED and start != self._url:
                        self._current = self._url
                        raise _TransientError(f"the server responded {response.status_code}", 0.0)
                    self._raise_refusal(response)
                    self._current = url
                    yield response
                    return
        except (httpx.InvalidURL, UnicodeError) as error:  # UnicodeError for an invalid host name
            raise self.failure(f"invalid URL ({error})", "check the URL") from None
        except httpx.TransportError as error:
            if is_untrusted_certificate(error):
                help = "for a private certificate, set SSL_CERT_FILE"
                raise self.failure(f"untrusted certificate ({error})", help) from None
            raise _TransientError(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__) from None
        raise self.failure(f"redirected more than {_REDIRECTS} times", "check the URL")

    def take(self, response: httpx.Response, length: int, into: BinaryIO) -> None:
        """Write a response body of ``length`` bytes to a file as it arrives."""
        if response.headers.get("content-encoding", "identity") != "identity":
            raise self.failure("the server compresses responses, so that byte ranges do not match the file")
        left = length
        for chunk in response.iter_raw():  # unbuffered: buffered bytes would be lost if the connection breaks
            into.write(chunk[:left])
            self.fetched += len(chunk)
            left -= len(chunk)
            if left < 0:
                raise self.failure(f"the server sent more than the requested {length} bytes")
        if left:
            raise _TransientError(f"the response is {left} bytes too short")

    def retry(self, attempt: Callable[[], Found], progress: Callable[[], int] = lambda: 0) -> Found:
        """Return the result of ``attempt``; retry transient failures, at most `ATTEMPTS` times without ``progress``."""
        tries, reached = 0, progress()

        def next_wait(error: Exception) -> float | None:
            nonlocal tries, reached
            if not isinstance(error, _TransientError):
                return None
            now = progress()
            tries, reached = (1 if now > reached else tries + 1), now
            if tries >= ATTEMPTS or (error.wait or 0.0) > LONGEST_WAIT:
                return None
            return min(_FIRST_WAIT * 2.0 ** (tries - 1), LONGEST_WAIT) if error.wait is None else error.wait

        try:
            return call_with_retries(attempt, next_wait, sleep=self._sleep)
        except _TransientError as error:
            delay = f"; it requested a delay of {error.wait:.0f} s" if error.wait else ""
            raise self.failure(f"{error}{delay}", "check the network and the server, then try again") from None

    def _next(self, response: httpx.Response, url: str) -> str:
        location = response.headers.get("location")
        if not location:
            raise self.failure(f"the server responded {response.status_code} without a location", "check the URL")
        following = str(response.url.join(location))
        self._check(following, url)
        return following

    def _check(self, url: str, before: str) -> None:
        """Reject URLs that must not be requested."""
        parts = parse_url(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise self.failure(f"not an http(s) URL: {redact_url(url)}", "check the URL")
        if parts.scheme == "http" and parse_url(before).scheme == "https":
            raise self.failure(f"redirected from https to http at {parts.hostname}")
        if "@" in parts.netloc:
            raise self.failure("credentials in a URL are not supported")

    def _raise_refusal(self, response: httpx.Response) -> None:
        """Raise for an HTTP error, unless it concerns only the range."""
        status = response.status_code
        if status in (408, 429) or (status >= 500 and status != 501):
            raise _TransientError(
                f"the server responded {status}", _parse_retry_after(response.headers.get("retry-after", ""))
            )
        if status >= 400 and status not in (400, 405, 416, 501):
            raise self.failure(f"the server responded {status}", _ADVICE.get(status, DOWNLOAD))


def _parse_retry_after(text: str) -> float | None:
    """Seconds in a Retry-After header, a number or a date; None if invalid."""
    if text.strip().isdecimal():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


def parse_url(url: str) -> SplitResult:
    """Parse a URL. Raises `UsageError`."""
    try:
        return urlsplit(url)
    except ValueError:
        where = repr(url.partition("?")[0].rpartition("@")[2])
        raise UsageError("invalid URL", where=where, help="pass the URL of a file") from None


def redact_url(url: str) -> str:
    """A URL for messages, without its query, which may be a signature, and without credentials."""
    parts = parse_url(url)
    path = parts.path if parts.netloc else parts.path.rpartition("@")[2]  # a slash is missing or doubled
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}"
