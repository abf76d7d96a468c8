"""Runs that are killed at a certain request, and the runs that finish what they began."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fatwheel.records.release import ReleaseRecord
from fatwheel.release.make_release import release
from fatwheel.release.request import ReleaseRequest
from fatwheel.stores.github.requests import Requests
from tests.fake_github.clock import VirtualClock
from tests.fake_github.server import Site
from tests.fake_github.workshop import check_server, make_files, open_site, run, the_release

COMMIT = "f" * 40
SIZES = {"a.bin": 1000, "b.bin": 50_000, "c.bin": 90_000}


class Killed(BaseException):
    """The process is gone."""


def mortal(requests: Requests, at: int, *, after: bool) -> Callable[..., Any]:
    """The one door of all requests, which kills at its ``at``-th use, before the request or after its answer."""
    real, count = requests._send, 0

    def send(method: str, path: str, **parts: Any) -> Any:
        nonlocal count
        count += 1
        if count > at or (count == at and not after):
            raise Killed
        answer = real(method, path, **parts)
        if count == at:
            raise Killed
        return answer

    return send


def survive(folder: Path, at: int, *, after: bool, replacing: bool) -> bool:
    """Kill a run at a request, check that nothing is lost, and finish with another; whether there was one to kill at.

    ``replacing``: the draft holds an earlier run's bytes under the same names.
    """
    old = make_files(folder / "old", SIZES)
    new = make_files(folder / "new", {name: size + 7 for name, size in SIZES.items()})
    with Site(clock=VirtualClock()) as site:
        if replacing:
            run(site, *old, commit=COMMIT, draft=True)
        store = open_site(site)
        store.requests._send = mortal(store.requests, at, after=after)  # type: ignore[method-assign]
        killed = False
        try:
            release(store, ReleaseRequest("v1", tuple(new), commit=COMMIT), clock=site.clock)
        except Killed:
            killed = True
        there = {a.digest for one in site.state.releases.values() for a in one.assets.values()}
        if replacing:
            for ours, theirs in zip(old, new, strict=True):
                assert {_digest(ours), _digest(theirs)} & there, f"{ours.name} is lost at {at}"
        record = run(site, *new, commit=COMMIT)
        check_server(site, record, new)
        assert record.published, at
        assert all(asset.live for asset in record.assets), at
        assert {asset.name for asset in the_release(site).assets.values()} == {*SIZES, "manifest.json", "SHA256SUMS"}
    return killed


def really(folder: Path, at: int) -> bool:
    """The same with a process, SIGKILL and `--resume`; the server kills as soon as the request arrives."""
    files = make_files(folder / "dist", SIZES)
    with Site() as site:
        environment = os.environ | {"GITHUB_TOKEN": "secret-token", "GITHUB_API_URL": site.api_url, "GITHUB_SHA": ""}
        environment.pop("GITHUB_ACTIONS", None)
        place = folder / f"run-{at}.json"
        where: dict[str, Any] = {
            "cwd": Path(__file__).parents[2], "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
        }  # fmt: skip
        command = [sys.executable, "-m", "fatwheel", "release", "--json"]
        asked = ["--store", "github:octo/wheels", "--tag", "v1", "--record", str(place), *map(str, files)]
        process = subprocess.Popen([*command, *asked], **where)

        def kill(_entry: dict[str, Any]) -> None:
            if len(site.state.log) == at:
                process.send_signal(signal.SIGKILL)

        site.arrived = kill
        process.communicate(timeout=120)
        site.arrived = lambda _entry: None
        assert "secret-token" not in place.read_text()
        resumed = subprocess.run([*command, "--resume", str(place)], **where, check=False)
        assert resumed.returncode == 0, resumed.stderr
        record = ReleaseRecord.model_validate(json.loads(resumed.stdout))
        check_server(site, record, files)
        assert record.published
        assert len(site.state.releases) == 1
        assert json.loads(place.read_text())["finished"] is True
    return process.returncode == -signal.SIGKILL


def _digest(file: Path) -> str:
    return f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
