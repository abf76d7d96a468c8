"""A host of pages, and one of assets behind a redirect, as GitHub Pages and releases are; bytes are counted."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class Hosts:
    """Two servers. ``sent``: path and bytes of each answer, headers too, in order."""

    pages: str = ""
    downloads: str = ""
    sent: list[tuple[str, int]] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Bytes that both have sent."""
        return sum(count for _, count in self.sent)

    def of(self, ending: str) -> int:
        """Bytes of answers to paths with this ending."""
        return sum(count for path, count in self.sent if path.endswith(ending))


class _Counted:
    def __init__(self, file):
        self.file, self.count = file, 0

    def write(self, data):
        self.count += len(data)
        return self.file.write(data)

    def __getattr__(self, name):
        return getattr(self.file, name)


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.wfile = _Counted(self.wfile)

    def handle_one_request(self):
        before = self.wfile.count
        super().handle_one_request()
        if self.wfile.count != before:
            self.server.hosts.sent.append((unquote(urlsplit(self.path).path), self.wfile.count - before))

    def log_message(self, *_):
        pass

    def do_GET(self):
        """Release files are somewhere else; there, ranges are answered."""
        path = urlsplit(self.path).path
        if self.server.assets and path.startswith("/releases/"):
            self.send_response(302)
            self.send_header("Location", f"{self.server.assets}{path.removeprefix('/releases')}?sp=r&sig=abc%3D")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        place = Path(self.translate_path(self.path))
        if not asked or not place.is_file():
            super().do_GET()
            return
        size = place.stat().st_size
        start = int(asked[1]) if asked[1] else max(size - int(asked[2]), 0)
        end = min(int(asked[2]) + 1, size) if asked[1] and asked[2] else size
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        with place.open("rb") as file:
            file.seek(start)
            self.wfile.write(file.read(end - start))

    def end_headers(self):
        if not self.server.assets:
            self.send_header("Accept-Ranges", "bytes")
        super().end_headers()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        """Clients may hang up when they have seen enough."""


@contextmanager
def hosts(pages: Path, store: Path) -> Iterator[Hosts]:
    """Serve the folder of pages, and the store at ``/releases/`` of the same host, which redirects to another."""
    made = Hosts()
    servers = [_Server(("127.0.0.1", 0), partial(_Handler, directory=str(folder))) for folder in (pages, store)]
    front, back = servers
    front.hosts = back.hosts = made
    back.assets, front.assets = None, f"http://127.0.0.1:{back.server_port}"
    threads = [threading.Thread(target=server.serve_forever) for server in servers]
    for thread in threads:
        thread.start()
    made.pages = f"http://127.0.0.1:{front.server_port}/"
    made.downloads = f"{made.pages}releases"
    try:
        yield made
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
        for thread in threads:
            thread.join()
