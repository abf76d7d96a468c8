"""The HTTP side: an API, an uploads and a storage origin, all on loopback."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from fatwheel.clock import Clock
from tests.fake_github.faults import Fault, Faults
from tests.fake_github.limits import Limiter
from tests.fake_github.routes import NOT_FOUND, Routes, find
from tests.fake_github.shapes import Shapes, error
from tests.fake_github.state import State
from tests.fake_github.uploads import Dropped, limited, receive, refusal

CHUNK = 1 << 20


class Site:
    """The whole fake: state, faults, limits and its listening servers. Use it as a context manager."""

    def __init__(
        self,
        repository: str = "octo/wheels",
        *,
        clock: Clock | None = None,
        faults: Iterable[Fault] = (),
        enterprise: bool = False,
        token: str = "secret-token",
        limits: dict[str, Any] | None = None,
        hashing: bool = True,
        ports: tuple[int, int] = (0, 0),
        tls: ssl.SSLContext | None = None,
        **state: Any,
    ) -> None:
        self.clock = clock or Clock()
        self.state = State(repository, self.clock, **state)
        self.faults = Faults(faults)
        self.limiter = Limiter(self.clock, **(limits or {}))
        self.token = token
        self.hashing = hashing
        self.jealous = True  # the storage refuses whoever brings the token along
        self.slow = 0.0  # bytes a second that uploads are read at; 0 is no limit
        self.arrived: Callable[[dict[str, Any]], None] = lambda _entry: None  # called before a request is looked at
        self.answered: Callable[[dict[str, Any]], None] = lambda _entry: None  # called when its answer is out
        self.going = threading.Event()  # set when the server stops: ends all stalls
        self.concurrent = 0
        self.most_concurrent = 0
        self._api = _Server(("127.0.0.1", ports[0]), Handler)
        self._uploads = self._api if enterprise else _Server(("127.0.0.1", ports[1]), Handler)
        self._storage = _Server(("127.0.0.1", 0), Handler)
        self._api.site = self._uploads.site = self._storage.site = self
        self.api_prefix, self.uploads_prefix = ("/api/v3", "/api/uploads") if enterprise else ("", "")
        if tls is not None:
            for server in {self._api, self._uploads, self._storage}:
                server.socket = tls.wrap_socket(server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        self.api_url = f"{scheme}://127.0.0.1:{self._api.server_port}{self.api_prefix}"
        self.uploads_url = f"{scheme}://127.0.0.1:{self._uploads.server_port}{self.uploads_prefix}"
        self.storage_url = f"{scheme}://127.0.0.1:{self._storage.server_port}"
        self.shapes = Shapes(self.state, self.api_url, self.uploads_url)

    def __enter__(self) -> Self:
        for server in {self._api, self._uploads, self._storage}:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.going.set()
        servers = {self._api, self._uploads, self._storage}
        stops = [threading.Thread(target=server.shutdown) for server in servers]
        for stop in stops:
            stop.start()
        for stop in stops:
            stop.join()
        for server in servers:
            server.server_close()

    def stall(self) -> None:
        """Do nothing until the server stops."""
        self.going.wait(30)

    def is_upload(self, port: int, path: str) -> bool:
        """Whether a request came to the uploads origin."""
        return port == self._uploads.server_port and path.startswith(self.uploads_prefix)

    def is_storage(self, port: int) -> bool:
        """Whether a request came to the storage that assets and artifacts are read from."""
        return port == self._storage.server_port

    def uploads(self) -> list[dict[str, Any]]:
        """The log of all uploads."""
        return [entry for entry in self.state.log if entry["route"] == "upload"]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    block_on_close = False
    site: Site

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server
    counted = False  # an upload under way

    @property
    def site(self) -> Site:
        return self.server.site

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep quiet."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (Dropped, ConnectionError, TimeoutError):
            self.close_connection = True

    def do_GET(self) -> None:
        self.begin()

    do_POST = do_PATCH = do_DELETE = do_PUT = do_GET  # noqa: N815  (names that http.server calls)

    def begin(self) -> None:
        """Tell what is asked for, and by whom."""
        parts = urlsplit(self.path)
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.more: dict[str, str] = {}
        self.read_bytes = 0
        self.started = time.monotonic()
        self.small_body = b""
        site = self.site
        upload = site.is_upload(self.server.server_port, parts.path)
        self.entry: dict[str, Any] = {"method": self.command, "path": self.path, "route": "?", "name": "", "attempt": 0}
        if parts.path.startswith("/_fake/"):
            self._control(parts.path.removeprefix("/_fake/"))
            return
        storage = site.is_storage(self.server.server_port)
        prefix = "" if storage else site.uploads_prefix if upload else site.api_prefix
        self.route = parts.path.removeprefix(prefix)
        with site.state.lock:
            site.state.log.append(self.entry)
        site.arrived(self.entry)
        if storage:
            self._blob()
        elif not self._authorised():
            self.answer(401, error(401, "Bad credentials"), drain=True)
        elif not site.limiter.primary():
            self.answer(403, error(403, "API rate limit exceeded"), drain=True)
        elif parts.path in {"/graphql", "/api/graphql"}:
            self._graphql()
        elif self.route == "/rate_limit":
            self.answer(200, {"resources": {}, "rate": {}})
        elif not self.route.startswith(f"/repos/{site.state.repository}"):
            self.answer(*NOT_FOUND, drain=True)
        elif self.command != "GET" and not (self.writer and site.state.may_write):
            self.answer(403, error(403, "Resource not accessible by integration"), drain=True)
        elif self.command != "GET" and (wait := site.limiter.secondary()) is not None:
            headers = {"retry-after": str(int(wait) + 1)} if site.limiter.say else {}
            self.answer(403, error(403, "You have exceeded a secondary rate limit."), headers=headers, drain=True)
        else:
            self._serve(self.route.removeprefix(f"/repos/{site.state.repository}"), upload=upload)

    def _authorised(self) -> bool:
        given = self.headers.get("authorization", "")
        kind, _, token = given.partition(" ")
        self.writer = bool(given)
        return not given or (kind.lower() in {"token", "bearer"} and token == self.site.token)

    def _serve(self, path: str, *, upload: bool) -> None:
        site, state = self.site, self.site.state
        pieces = path.strip("/").split("/")
        if upload and self.command == "POST" and len(pieces) == 3 and pieces[0] == "releases":
            name = self.query.get("name", "")
            self.counted = True
            with state.lock:
                attempt = state.attempts[name] = state.attempts.get(name, 0) + 1
                release = state.releases.get(int(pieces[1])) if pieces[1].isdigit() else None
                site.concurrent += 1
                site.most_concurrent = max(site.most_concurrent, site.concurrent)
            self.entry |= {
                "route": "upload",
                "name": name,
                "attempt": attempt,
                "bytes": 0,
                "at": self.site.clock.wall(),
            }
            try:
                if release is None:
                    self.answer(*NOT_FOUND, drain=True)
                    return
                fault = site.faults.take("upload", name, attempt)
                self.entry["fault"] = fault.kind if fault else ""
                receive(self, release, name, self.query.get("label"), fault)
            finally:
                self._over()
            return
        # Assets that are posted to the API's own origin are not found, as on the real one.
        found = find(self.command, path) if not upload or site.uploads_prefix == "" else None
        if found is None or (upload and site.api_url != site.uploads_url):
            self.answer(*NOT_FOUND, drain=True)
            return
        self.small_body = b"".join(self.body(int(self.headers.get("content-length") or 0)))
        self._call(*found)

    def _over(self) -> None:
        """An upload is no longer under way: before its answer is out, since the next may come with that."""
        if self.counted:
            self.counted = False
            with self.site.state.lock:
                self.site.concurrent -= 1

    def _call(self, route: str, function: str, held: dict[str, str]) -> None:
        site = self.site
        asset = site.state.asset_of(int(held["asset"])) if "asset" in held else None
        name = asset[1].name if asset else held.get("tag", "")
        self.entry |= {"route": route, "name": name}
        fault = site.faults.take(route, name, 0)
        kind = fault.kind if fault else ""
        self.entry["fault"] = kind
        if fault and (answer := limited(kind, fault, site.clock.wall())):
            self.answer(*answer[:2], headers=answer[2])
            return
        if early := refusal(kind):
            self.answer(*early)
            return
        if kind == "rst":
            raise Dropped
        with site.state.lock:
            status, document = getattr(Routes(self), function)(**held)
        if fault and kind == "late-committed" and route == "create":
            site.state.releases[document["id"]].hidden = int(fault.seconds)
        if kind in {"502-committed", "late-committed"}:
            self.answer(502, {"message": "Server Error"})
        elif kind == "cut-201":
            self.answer(status, '{"id": 1, "na')
        elif kind == "odd-200":  # JSON, and not what was asked for
            self.answer(200, ["nothing"])
        else:
            self.answer(status, document)

    def _graphql(self) -> None:
        """The one query that gh makes for a release: its number by its tag."""
        asked = json.loads(b"".join(self.body(int(self.headers.get("content-length") or 0))) or b"{}")
        tag = asked.get("variables", {}).get("tagName")
        with self.site.state.lock:
            found = next((one for one in self.site.state.releases.values() if one.tag == tag), None)
        row = {"databaseId": found.id, "isDraft": found.draft} if found else None
        self.answer(200, {"data": {"repository": {"release": row}}})

    def _blob(self) -> None:
        """The storage behind the redirects: like the real one it refuses a request that brings the token along."""
        self.entry["route"] = "blob"
        if self.headers.get("authorization") and self.site.jealous:
            self.answer(400, "<Error>Only one auth mechanism allowed</Error>")
            return
        _, _, kind, number = self.route.split("/") if self.route.count("/") == 3 else ("", "", "", "0")
        state = self.site.state
        with state.lock:
            asset = state.asset_of(int(number)) if kind == "asset" else None
            artifact = state.artifacts.get(int(number))
            content = asset[1].content if asset else artifact.content if artifact else None
        if content is None:
            self.answer(*NOT_FOUND)
            return
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.send_header("content-type", "application/octet-stream")
        self.end_headers()
        self.wfile.write(content)

    def body(self, length: int) -> Iterator[bytes]:
        """So many bytes of the request's body."""
        left = length
        while left > 0:
            chunk = self.rfile.read1(min(left, CHUNK))  # type: ignore[attr-defined]
            if not chunk:
                raise Dropped
            left -= len(chunk)
            self.read_bytes += len(chunk)
            self.entry["bytes"] = self.read_bytes
            if self.site.slow:
                self.site.going.wait(len(chunk) / self.site.slow)
            yield chunk

    def answer(self, status: int, document: Any, *, headers: dict[str, str] | None = None, drain: bool = False) -> None:
        """Send an answer; ``drain`` is for one that comes before the body was read: the connection ends with it."""
        self.entry["status"] = status
        self._over()
        page = isinstance(document, str)
        data = b"" if document is None else (document if page else json.dumps(document)).encode()
        sent = {
            "content-type": "text/html" if page else "application/json; charset=utf-8",
            "x-github-request-id": "FAKE:1", **self.site.limiter.headers(), **self.more, **(headers or {}),
        }  # fmt: skip
        self.send_response_only(status)
        self.send_header("Date", formatdate(self.site.clock.wall(), usegmt=True))
        for key, value in sent.items():
            self.send_header(key, value)
        if status != 204:
            self.send_header("content-length", str(len(data)))
        if drain:
            self.send_header("connection", "close")
            self.close_connection = True
        self.end_headers()
        if status != 204:
            self.wfile.write(data)
        self.wfile.flush()
        self.site.answered(self.entry)
        if drain:
            self._linger()

    def _linger(self) -> None:
        """Let the client read the answer before the connection goes: unread bytes would reset it."""
        try:
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(0.5)
            while self.connection.recv(CHUNK):
                pass
        except OSError:
            pass

    def _control(self, what: str) -> None:
        """Steering from outside: faults, the log, the clock."""
        site = self.site
        asked = json.loads(b"".join(self.body(int(self.headers.get("content-length") or 0))) or b"null")
        if what == "faults" and self.command == "POST":
            site.faults.add(Fault(**row) for row in asked)
        elif what == "clock" and self.command == "POST":
            site.clock.sleep(float(asked["advance"]))
        elif what == "artifact" and self.command == "POST":
            self.answer(site.state.upload_artifact(**asked), {})
            return
        elif what == "release" and self.command == "POST":
            site.state.add_release(**asked)
        with site.state.lock:
            documents: dict[str, Any] = {
                "log": list(site.state.log),
                "state": [site.shapes.release(r) for r in site.state.releases.values()],
            }
        self.answer(200, documents.get(what, {}))
