"""Requests to GitHub through githubkit, with its retries, error handling and caching disabled.

By default githubkit retries uploads with an empty body, fails on a Retry-After with a date and on an asset in the state
"starter", has no timeout, and sends the token to any host.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fatwheel import __version__
from fatwheel.certificates import is_untrusted_certificate
from fatwheel.clock import Clock
from fatwheel.stores.body import CHUNK, Body
from fatwheel.stores.github.hosts import is_loopback, trusted
from fatwheel.stores.github.responses import classify_response
from fatwheel.stores.store_errors import FailureKind, StoreFailure
from fatwheel.stores.upload_timeout import StallDetector, UploadLimits

if TYPE_CHECKING:
    import httpx
    from githubkit import GitHub
    from githubkit.auth import TokenAuthStrategy, UnauthAuthStrategy

    Client = GitHub[TokenAuthStrategy] | GitHub[UnauthAuthStrategy]

API_VERSION = "2022-11-28"
_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": API_VERSION}
PAGE = 100  # entries; the maximum that GitHub allows
_REDIRECTS = 3


class Requests:
    """Requests to one API with one token. All methods raise `StoreFailure`; none retries."""

    def __init__(self, api: str, token: str | None, limits: UploadLimits, clock: Clock) -> None:
        self.api = api
        self.token = token
        self.limits = limits
        self.clock = clock
        self._clients: dict[float, Client] = {}
        self._lock = threading.Lock()

    def json(self, method: str, path: str, *, params: dict[str, Any] | None = None, data: Any = None) -> Any:
        """Return the JSON of a response; None if it has no body."""
        response = self._send(method, path, params=params, json=data)
        return None if response.status_code == 204 else _parsed(response)

    def document(self, path: str) -> dict[str, Any]:
        """Return the JSON object at a path."""
        found = self.json("GET", path)
        if not isinstance(found, dict):
            raise StoreFailure("the server returned JSON that is not an object", FailureKind.AMBIGUOUS)
        return found

    def pages(self, path: str, key: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield all entries of a list, or of the list at ``key``, a hundred per request.

        Pages are requested by number, so links to other hosts are never followed. After a full page without a link to
        the next one, the next page is still requested: a proxy may have removed the link.
        """
        page = 1
        while True:
            response = self._send("GET", path, params={"per_page": PAGE, "page": page})
            rows = _parsed(response)
            if key is not None:
                rows = rows.get(key) if isinstance(rows, dict) else None
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise StoreFailure("the server returned JSON that is not a list", FailureKind.AMBIGUOUS)
            yield from rows
            if not rows or ('rel="next"' not in response.headers.get("link", "") and len(rows) < PAGE):
                return
            page += 1

    def upload(self, url: str, name: str, body: Body) -> Any:
        """Upload an asset; returns the JSON of the response."""
        detector = StallDetector(self.limits, self.clock)
        sent = 0

        def watch(taken: int) -> None:
            nonlocal sent
            sent = taken
            body.watch(taken)
            detector.watch(taken)

        watched = Body(body.source, body.size, watch)
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(body.size)}
        try:
            response = self._send("POST", url, params={"name": name}, content=watched, headers=headers)
            return _parsed(response)
        except StoreFailure as failure:
            failure.sent_all = sent >= body.size
            raise

    def stream(self, path: str) -> Iterator[bytes]:
        """Yield the content of an asset or artifact. Only the API receives the token, not its storage."""
        import httpx

        url = self._url(path)
        headers = {**_HEADERS, "Accept": "application/octet-stream"}
        detector = StallDetector(self.limits, self.clock)
        taken = 0
        try:
            timeout, verify = self._timeout(self.limits.reply), httpx.create_ssl_context()
            with httpx.Client(timeout=timeout, verify=verify, trust_env=self._use_proxies(url)) as client:
                for _ in range(_REDIRECTS + 1):
                    hop = dict(headers)
                    if self.token and url.startswith(self.api):
                        hop["Authorization"] = f"Bearer {self.token}"
                    with client.stream("GET", url, headers=hop) as response:
                        if response.is_redirect:
                            url = _redirect_target(response)
                            self._check_scheme(url)
                            continue
                        if response.is_error:
                            response.read()
                            raise self._failure(response)
                        for chunk in response.iter_bytes(CHUNK):
                            taken += len(chunk)
                            detector.watch(taken)
                            yield chunk
                        return
        except httpx.InvalidURL as error:
            raise StoreFailure(f"redirected to an invalid URL: {error}", FailureKind.ASSET) from error
        except httpx.HTTPError as error:
            raise StoreFailure(_describe_error(error), FailureKind.TRANSIENT, where=self._host) from error
        raise StoreFailure("too many redirects", FailureKind.ASSET)

    def _send(self, method: str, path: str, **parts: Any) -> httpx.Response:
        import httpx
        from githubkit.exception import GitHubException

        url = self._url(path)
        headers = {**_HEADERS, **parts.pop("headers", {})}
        read = self.limits.read if "content" in parts else self.limits.reply
        for _ in range(_REDIRECTS + 1):
            if not trusted(url, self.api):
                raise StoreFailure(
                    f"{url.split('?')[0]} does not belong to {self.api}; the token was not sent", FailureKind.RELEASE
                )
            try:
                response = self._client(read).request(method, url, headers=headers, **parts).raw_response
            except GitHubException as error:
                raise self._transport_failure(error, method) from error
            except httpx.InvalidURL as error:
                raise StoreFailure(f"invalid URL: {error}", FailureKind.ASSET) from error
            if response.status_code not in {301, 302, 307, 308}:
                break
            url = _redirect_target(response)
            if "?" in url:
                parts.pop("params", None)  # the new URL contains them
        else:
            raise StoreFailure("too many redirects", FailureKind.ASSET)
        if not response.is_success:
            raise self._failure(response)
        return response

    def _failure(self, response: httpx.Response) -> StoreFailure:
        found = classify_response(response.status_code, response.headers, response.text, now=self.clock.wall())
        found.where = self._host
        return found

    @property
    def _host(self) -> str:
        """The host that errors name as their place."""
        return urlsplit(self.api).netloc or self.api

    def _transport_failure(self, error: Exception, method: str) -> StoreFailure:
        """Classify a request without a response. Only a request that never connected certainly had no effect."""
        import httpx

        cause = error.__cause__ or error
        if isinstance(cause, StoreFailure):
            return cause
        if is_untrusted_certificate(cause):
            help = "if the server has a certificate of its own, set SSL_CERT_FILE"
            return StoreFailure(_describe_error(cause), FailureKind.RELEASE, where=self._host, help=help)
        no_effect = method == "GET" or isinstance(cause, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
        kind = FailureKind.TRANSIENT if no_effect else FailureKind.AMBIGUOUS
        return StoreFailure(_describe_error(cause), kind, answered=False, where=self._host)

    def _url(self, path: str) -> str:
        return path if path.startswith(("http://", "https://")) else self.api + path.lstrip("/")

    def _check_scheme(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise StoreFailure(f"redirected to plain http on {parts.hostname}", FailureKind.ASSET)

    def _timeout(self, read: float) -> httpx.Timeout:
        import httpx

        limits = self.limits
        return httpx.Timeout(connect=limits.connect, write=limits.write, read=read, pool=limits.pool)

    def _use_proxies(self, url: str) -> bool:
        """Whether to use the proxies of the environment: not for this machine."""
        return not is_loopback(urlsplit(url).hostname or "")

    def _client(self, read: float) -> Client:
        with self._lock:
            if read not in self._clients:
                self._clients[read] = self._make(read)
            return self._clients[read]

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """One context for all clients, since loading certificates takes longer than a request; none for plain http."""
        import httpx

        if self.api.startswith("http://"):
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return httpx.create_ssl_context()

    def _make(self, read: float) -> Client:
        from githubkit import GitHub, Response, TokenAuthStrategy, UnauthAuthStrategy

        class Plain(GitHub[Any]):
            """Returns every response unchanged, since errors are classified by fatwheel."""

            def _check_is_error(self, response: httpx.Response) -> bool:
                del response
                return False

            def _check_rate_limit(self, response: Response[Any]) -> None:
                del response

        return Plain(
            TokenAuthStrategy(self.token) if self.token else UnauthAuthStrategy(),
            base_url=self.api,
            user_agent=f"fatwheel/{__version__}",
            follow_redirects=False,
            timeout=self._timeout(read),
            trust_env=self._use_proxies(self.api),
            ssl_verify=self._tls,
            http_cache=False,
            auto_retry=False,
        )


def _redirect_target(response: httpx.Response) -> str:
    import httpx

    place = response.headers.get("location")
    if not place:
        raise StoreFailure(f"{response.status_code} without a Location header", FailureKind.ASSET)
    try:
        return str(response.url.join(place))
    except httpx.InvalidURL as error:
        raise StoreFailure(f"redirected to an invalid URL: {error}", FailureKind.ASSET) from error


def _parsed(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        raise StoreFailure(f"{response.status_code} with an invalid JSON body", FailureKind.AMBIGUOUS) from None


def _describe_error(error: BaseException) -> str:
    """Describe a transport error, including its type, which helps when searching the web."""
    import httpx

    cause = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    connecting = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)
    return f"no connection ({cause})" if isinstance(error, connecting) else cause
