"""Container images in matrix.yaml, and pinning them to digests from their registry."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fatwheel.__main__ import run
from fatwheel.declaration import load
from fatwheel.registries import registry_of
from fatwheel.workflows.registry import find_images
from tests.unit.workflows.repositories import copied

DIGESTS = {"12.9-devel": "sha256:" + "a" * 64, "latest": "sha256:" + "b" * 64}


class Registry(BaseHTTPRequestHandler):
    """A registry with anonymous tokens, like Docker Hub and ghcr.io."""

    def log_message(self, *_):
        """Keep quiet."""

    def answer(self, status, headers=(), body=b""):
        self.send_response(status)
        for key, value in {**dict(headers), "content-length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        asked = "service=here&scope=repository%3Aocto%2Fcuda%3Apull"
        token = b'{"token": "good"}' if asked in self.path else b'{"token": "bad"}'
        self.answer(200, body=token)

    def do_HEAD(self):
        self.server.asked.append(self.path)
        tag = self.path.rpartition("/")[2]
        if self.headers.get("authorization") != "Bearer good":
            realm = f'Bearer realm="http://127.0.0.1:{self.server.server_port}/token",service="here"'
            self.answer(401, {"www-authenticate": f'{realm},scope="repository:octo/cuda:pull"'})
        elif tag not in DIGESTS or "image.index" not in self.headers.get("accept", ""):
            self.answer(404)
        else:
            self.answer(200, {"docker-content-digest": DIGESTS[tag]})


@pytest.fixture
def registry():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def declared(place, image):
    matrix = copied("minikernels", place)
    lines = [f"      x86_64: {image}" if "nvidia/cuda@" in line else line for line in matrix.read_text().split("\n")]
    matrix.write_text("\n".join(lines))
    return matrix


@pytest.mark.parametrize(("written", "after"), [
    ("{}:12.9-devel", "{}@" + DIGESTS["12.9-devel"] + "  # 12.9-devel"),
    ('"{}:12.9-devel"  # ours', '"{}@' + DIGESTS["12.9-devel"] + '"  # 12.9-devel'),
    ("{}", "{}@" + DIGESTS["latest"] + "  # latest"),
    ("{}@sha256:" + "c" * 64 + "  # 12.9-devel", "{}@" + DIGESTS["12.9-devel"] + "  # 12.9-devel"),
])  # fmt: skip
def test_a_tag_is_replaced_by_its_digest_and_kept_as_a_comment(tmp_path, registry, written, after):
    name = f"127.0.0.1:{registry.server_port}/octo/cuda"
    matrix = declared(tmp_path, written.format(name))
    before = matrix.read_text().split("\n")
    assert run(["images", "--update", "--matrix", str(matrix)]) == 0
    now = matrix.read_text().split("\n")
    changed = [(old, new) for old, new in zip(before, now, strict=True) if old != new]
    assert changed == [(f"      x86_64: {written.format(name)}", f"      x86_64: {after.format(name)}")]
    assert run(["images", "--update", "--matrix", str(matrix)]) == 0
    assert matrix.read_text().split("\n") == now


def test_each_tag_is_resolved_once(tmp_path, registry, capsys):
    name = f"127.0.0.1:{registry.server_port}/octo/cuda:12.9-devel"
    matrix = declared(tmp_path, name)
    text = matrix.read_text()
    start = text.index('    toolkit: "13.0"\n')
    end = start + len('    toolkit: "13.0"\n')
    matrix.write_text(f"{text[:end]}    image: {{x86_64: '{name}', aarch64: '{name}'}}\n{text[end:]}")
    assert run(["images", "--update", "--json", "--matrix", str(matrix)]) == 0
    told = json.loads(capsys.readouterr().out)["images"]
    assert [image["digest"] for image in told] == [DIGESTS["12.9-devel"]] * 3
    assert len(registry.asked) == 2  # without a token, and with one
    assert [image.digest for image in find_images(load(matrix))] == [DIGESTS["12.9-devel"]] * 3


def test_a_missing_tag_is_an_error_and_changes_nothing(tmp_path, registry, capsys):
    matrix = declared(tmp_path, f"127.0.0.1:{registry.server_port}/octo/cuda:gone")
    before = matrix.read_bytes()
    assert run(["images", "--update", "--matrix", str(matrix)]) == 7
    assert "responded with 404 and no digest" in capsys.readouterr().err
    assert matrix.read_bytes() == before


def test_without_update_no_registry_is_contacted(tmp_path, capsys):
    matrix = declared(tmp_path, "octo/cuda:12.9")
    assert run(["images", "--matrix", str(matrix)]) == 0
    assert "not pinned" in capsys.readouterr().out


def test_the_registry_of_a_name():
    assert registry_of("nvidia/cuda:12.9") == "docker.io"
    assert registry_of("cuda") == "docker.io"
    assert registry_of("ghcr.io/a/b@sha256:00") == "ghcr.io"
    assert registry_of("localhost/a") == "localhost"
    assert registry_of("127.0.0.1:5000/a") == "127.0.0.1:5000"
