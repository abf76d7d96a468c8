"""The fake answers as GitHub's own OpenAPI description says, and our requests are as it wants them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.fake_github.clock import VirtualClock
from tests.fake_github.server import Site
from tests.fake_github.shapes import Shapes
from tests.fake_github.workshop import make_files, open_site, run

openapi_core = pytest.importorskip("openapi_core")
pytestmark = [
    pytest.mark.integration,
    # The libraries behind openapi-core warn about their own next versions.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
SLICE = Path(__file__).parents[1] / "fake_github" / "openapi.json"


class Watched(httpx.HTTPTransport):
    """Holds every request and its answer against the description."""

    def __init__(self) -> None:
        super().__init__()
        self.api = openapi_core.OpenAPI.from_dict(json.loads(SLICE.read_text()))
        self.seen: list[tuple[str, str, int]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        response.read()
        self.check(request, response)
        return response

    def check(self, request: httpx.Request, response: httpx.Response) -> None:
        from openapi_core.testing import MockRequest, MockResponse

        path = urlsplit(str(request.url)).path
        if response.is_server_error or "/git/" in path or path.count("/") == 3:
            return  # no answer of the API's own, or a path that the slice does not hold
        upload = request.method == "POST" and path.endswith("/assets")
        asked = MockRequest(
            "https://api.github.com", request.method.lower(), path, args=dict(request.url.params),
            headers=dict(request.headers), data=b"" if upload else request.read() or None,
            content_type=request.headers.get("content-type", ""),
        )  # fmt: skip
        self.api.validate_request(asked)
        kind = response.headers.get("content-type", "").split(";")[0]
        if response.status_code in {204, 302}:
            self.seen.append((request.method, path, response.status_code))
            return
        # GitHub's description knows no partially uploaded assets, though its documentation tells of them.
        text = response.text.replace('"state": "starter"', '"state": "open"')
        answer = MockResponse(text.encode(), status_code=response.status_code, content_type=kind)
        self.api.validate_response(asked, answer)
        self.seen.append((request.method, path, response.status_code))


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    transport = Watched()
    make = httpx.Client.__init__

    def init(self: httpx.Client, *arguments: Any, **options: Any) -> None:
        make(self, *arguments, **{**options, "transport": transport})

    monkeypatch.setattr(httpx.Client, "__init__", init)
    yield transport
    transport.close()


def test_a_whole_release_is_as_described(watched: Watched, tmp_path: Path) -> None:
    files = make_files(tmp_path, {f"f{n}.bin": 1000 + n for n in range(3)})
    commit = "b" * 40
    with Site(clock=VirtualClock()) as site:
        draft = site.state.add_release("v1", target=commit)
        site.state.add_asset(draft, files[0].name)  # a half-upload: listed and deleted
        run(site, *files, commit=commit, draft=True)
        newer = make_files(tmp_path / "newer", {files[1].name: 1500})
        run(site, files[0], newer[0], files[2], commit=commit)  # swaps, and publishes
        store = open_site(site)
        (live,) = store.find("v1")
        assert b"".join(store.read(store.assets(live)[0]))
        site.state.add_artifact(5, "wheels", b"x")
        list(store.requests.pages("repos/octo/wheels/actions/runs/5/artifacts", key="artifacts"))
        store.delete_release(live)
    kinds = {(method, status) for method, _, status in watched.seen}
    assert {("GET", 200), ("GET", 404), ("POST", 201), ("PATCH", 200), ("DELETE", 204), ("GET", 302)} <= kinds


def test_refusals_are_as_described(watched: Watched, tmp_path: Path) -> None:
    files = make_files(tmp_path, {"a.bin": 1000})
    with Site(clock=VirtualClock(), immutable=True) as site:
        run(site, *files)
        site.state.releases.clear()
        with pytest.raises(Exception, match="immutable"):
            run(site, *files)
        assert ("POST", "/repos/octo/wheels/releases", 422) in watched.seen


@pytest.mark.parametrize(("shape", "key"), [("release", "upload_url"), ("asset", "state")])
def test_the_check_would_notice_an_answer_that_is_wrong(
    watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str, key: str
) -> None:
    files = make_files(tmp_path, {"a.bin": 1000})
    right = getattr(Shapes, shape)

    def wrong(*arguments: Any) -> dict[str, Any]:
        return {name: value for name, value in right(*arguments).items() if name != key}

    monkeypatch.setattr(Shapes, shape, wrong)
    with Site(clock=VirtualClock()) as site:
        site.state.add_asset(site.state.add_release("v1"), "x.bin")
        with pytest.raises(Exception, match=r"nvalid|required"):
            run(site, *files)
    assert watched.seen
