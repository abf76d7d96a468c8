"""Requests for parts of one file over HTTP: redirects, refusals, and patience with what passes."""

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

if TYPE_CHECKING:
    import httpx
    import tenacity

DOWNLOAD = "download the file, and give its path"
ATTEMPTS = 5  # tries in a row that bring nothing
LONGEST_WAIT = 60.0  # seconds
_FIRST_WAIT = 0.5  # seconds; doubled each time
_CONNECT, _READ = 10.0, 30.0  # seconds
_REDIRECTS = 10
_MOVED = frozenset({301, 302, 303, 307, 308})
_EXPIRED = frozenset({401, 403, 404, 410})  # what the place behind a redirect answers when its time is over
_ADVICE = {
    401: "a file that is not public cannot be read this way: " + DOWNLOAD,
    403: "a file that is not public cannot be read this way: " + DOWNLOAD,
    404: "look at the URL",
    410: "look at the URL",
}

Found = TypeVar("Found")


class RemoteFailure(UsageError):
    """A file at a URL that cannot be read, or not in parts."""


class _TransientError(Exception):
    """A failure that another try may mend. ``wait`` is what the server asked for, in seconds."""

    def __init__(self, what: str, wait: float | None = None) -> None:
        super().__init__(what)
        self.wait = wait


class Requests:
    """Requests for one URL, all of which raise `RemoteFailure`. Credentials are neither taken nor sent.

    ``fetched`` counts bytes of bodies that were taken, ``count`` requests, redirects and failed ones too. Safe to use
    from several threads.
    """

    def __init__(self, url: str, sleep: Callable[[float], None] = time.sleep) -> None:
        import httpx

        self.where = shown(url)
        self.fetched = self.count = 0
        self._url = self._place = url
        self._sleep = sleep
        self._check(url, "")
        self._client = httpx.Client(
            timeout=httpx.Timeout(_READ, connect=_CONNECT),
            headers={"User-Agent": f"fatwheel/{__version__}", "Accept": "*/*", "Accept-Encoding": "identity"},
            follow_redirects=False,
        )

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def failure(self, what: str, help: str = DOWNLOAD) -> RemoteFailure:
        """A failure to raise."""
        return RemoteFailure(what, where=self.where, help=help)

    @contextmanager
    def get(self, span: str, condition: str = "") -> Iterator[httpx.Response]:
        """The answer for a range like ``bytes=0-99`` if the file's mark is still ``condition``; its body is to come.

        Within `patiently` only, which tries again what passes. Where a redirect led is remembered, until it refuses.
        """
        import httpx

        headers = {"Range": span} | ({"If-Range": condition} if condition else {})
        start = url = self._place
        try:
            for _ in range(_REDIRECTS + 1):
                self.count += 1
                with self._client.stream("GET", url, headers=headers) as answer:
                    if answer.status_code in _MOVED:
                        url = self._next(answer, url)
                        continue
                    if answer.status_code in _EXPIRED and start != self._url:
                        self._place = self._url
                        raise _TransientError(f"the server answered {answer.status_code}", 0.0)
                    self._raise_refusal(answer)
                    self._place = url
                    yield answer
                    return
        except (httpx.InvalidURL, UnicodeError) as error:  # the latter for a host that no name can be
            raise self.failure(f"no URL ({error})", "look at the URL") from None
        except httpx.TransportError as error:
            if is_untrusted_certificate(error):
                help = "if the server has a certificate of its own, set SSL_CERT_FILE"
                raise self.failure(f"its certificate is not trusted ({error})", help) from None
            raise _TransientError(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__) from None
        raise self.failure(f"redirected more than {_REDIRECTS} times", "look at the URL")

    def take(self, answer: httpx.Response, length: int, into: BinaryIO) -> None:
        """Write a body of ``length`` bytes to a file, as it comes."""
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise self.failure("the server compresses what it sends, so that its ranges mean nothing")
        left = length
        for chunk in answer.iter_raw():  # as it comes: what is gathered into larger ones is lost when it breaks off
            into.write(chunk[:left])
            self.fetched += len(chunk)
            left -= len(chunk)
            if left < 0:
                raise self.failure(f"the server sent more than the {length} bytes of a range")
        if left:
            raise _TransientError(f"the server sent {left} bytes less than it said")

    def patiently(self, attempt: Callable[[], Found], progress: Callable[[], int] = lambda: 0) -> Found:
        """What ``attempt`` returns, tried again while failures pass and ``progress`` grows, or a few times more."""
        import tenacity

        tries, reached = 0, progress()

        def count(_state: tenacity.RetryCallState) -> None:
            nonlocal tries, reached
            now = progress()
            tries, reached = (1 if now > reached else tries + 1), now

        def wait(state: tenacity.RetryCallState) -> float:
            asked = _asked(state)
            return min(_FIRST_WAIT * 2.0 ** (tries - 1), LONGEST_WAIT) if asked is None else asked

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_TransientError),
            after=count,
            wait=wait,
            stop=lambda state: tries >= ATTEMPTS or (_asked(state) or 0.0) > LONGEST_WAIT,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(attempt)
        except _TransientError as error:
            asked = f"; it asks for a wait of {error.wait:.0f} s" if error.wait else ""
            raise self.failure(f"{error}{asked}", "look at the network and the server, then try again") from None

    def _next(self, answer: httpx.Response, url: str) -> str:
        place = answer.headers.get("location")
        if not place:
            raise self.failure(f"the server answered {answer.status_code} without a place to go to", "look at the URL")
        following = str(answer.url.join(place))
        self._check(following, url)
        return following

    def _check(self, url: str, before: str) -> None:
        """Refuse a place that must not be asked."""
        parts = split(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise self.failure(f"{shown(url)} is not on the web", "look at the URL")
        if parts.scheme == "http" and split(before).scheme == "https":
            raise self.failure(f"redirected to plain http at {parts.hostname}")
        if "@" in parts.netloc:
            raise self.failure("a user name or password in a URL is not sent")

    def _raise_refusal(self, answer: httpx.Response) -> None:
        """Raise for an error, except for those that concern the range alone."""
        status = answer.status_code
        if status in (408, 429) or (status >= 500 and status != 501):
            raise _TransientError(f"the server answered {status}", _retry_after(answer.headers.get("retry-after", "")))
        if status >= 400 and status not in (400, 405, 416, 501):
            raise self.failure(f"the server answered {status}", _ADVICE.get(status, DOWNLOAD))


def _asked(state: tenacity.RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome else None
    return error.wait if isinstance(error, _TransientError) else None


def _retry_after(text: str) -> float | None:
    """Seconds of a Retry-After, which is a number or a date; None where it is neither."""
    if text.strip().isdecimal():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


def split(url: str) -> SplitResult:
    """A URL's parts. Raises `UsageError`."""
    try:
        return urlsplit(url)
    except ValueError:
        where = repr(url.partition("?")[0].rpartition("@")[2])
        raise UsageError("this is no URL", where=where, help="give the URL of a file") from None


def shown(url: str) -> str:
    """A URL for messages: without its query, which may be a signature, and without what stands before an @."""
    parts = split(url)
    path = parts.path if parts.netloc else parts.path.rpartition("@")[2]  # a slash too few, or too many
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}"
