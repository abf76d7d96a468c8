"""A web server with range requests for one file, and configurable faults."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@dataclass
class Answer:
    """A response before it is sent; faults change it."""

    status: int
    headers: dict[str, str]
    body: bytes
    cut: int | None = None  # bytes after which the connection ends


Fault = Callable[[Answer], None]


@dataclass
class Served:
    """Serve ``data``. ``faults`` apply to the next requests (None: no fault), ``always`` to all others."""

    data: bytes
    etag: str = '"one"'
    ranges: bool = True
    suffixes: bool = True
    faults: list[Fault | None] = field(default_factory=list)
    always: Fault | None = None
    redirects: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    sent: int = 0
    base: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def url(self, path: str = "/demo-1.0-py3-none-any.whl") -> str:
        return self.base + path

    @property
    def spans(self) -> list[str]:
        """Requested ranges, in order."""
        return [headers.get("range", "") for _, headers in self.asked]

    def answer(self, path: str, headers: dict[str, str]) -> Answer:
        if place := self.redirects.get(path):
            return Answer(302, {"Location": place}, b"")
        size = len(self.data)
        whole = Answer(200, {"ETag": self.etag}, self.data)
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", headers.get("range", ""))
        if not match or not self.ranges or headers.get("if-range", self.etag) != self.etag:
            return whole
        if not match[1] and not self.suffixes:
            return Answer(416, {"Content-Range": f"bytes */{size}"}, b"")
        start = int(match[1]) if match[1] else max(0, size - int(match[2]))
        end = min(size, int(match[2]) + 1) if match[1] and match[2] else size
        if start >= end:
            return Answer(416, {"Content-Range": f"bytes */{size}"}, b"")
        told = {"ETag": self.etag, "Content-Range": f"bytes {start}-{end - 1}/{size}"}
        return Answer(206, told, self.data[start:end])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        served: Served = self.server.served
        headers = {key.lower(): value for key, value in self.headers.items()}
        with served.lock:
            served.asked.append((self.path, headers))
            fault = served.faults.pop(0) if served.faults else served.always
            answer = served.answer(urlsplit(self.path).path, headers)
        told = {"Content-Length": str(len(answer.body)), **answer.headers}
        answer.headers = told
        if fault:
            fault(answer)
        self.send_response(answer.status)
        for key, value in answer.headers.items():
            self.send_header(key, value)
        self.end_headers()
        body = answer.body if answer.cut is None else answer.body[: answer.cut]
        try:
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # the client has seen enough
            return
        with served.lock:
            served.sent += len(body)
        if answer.cut is not None:
            self.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        """Ignore clients that disconnect."""


@contextmanager
def serving(data: bytes, **options) -> Iterator[Served]:
    """Serve it on a free port, at any path."""
    served = Served(data, **options)
    server = _Server(("127.0.0.1", 0), _Handler)
    server.served = served
    served.base = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
