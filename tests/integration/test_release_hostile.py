"""Answers, files and people that make it hard: every run ends, says why, and harms nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from fatwheel.errors import ReleaseRefused, UsageError
from fatwheel.records.release import ReleaseRecord
from fatwheel.release.inspection import Inspector
from fatwheel.release.make_release import release
from fatwheel.release.notes import BEGIN, END, merge_notes
from fatwheel.release.request import ReleaseRequest
from fatwheel.release.retention import RetentionPolicy, delete_releases, find_expired
from fatwheel.stores.directory import DirectoryStore
from fatwheel.stores.github import open_github
from fatwheel.stores.retry import RetryPolicy
from fatwheel.stores.store_errors import FailureKind, StoreFailure
from fatwheel.stores.upload_timeout import UploadLimits
from tests.fake_github.clock import START, VirtualClock
from tests.fake_github.faults import Fault
from tests.fake_github.server import Site
from tests.fake_github.workshop import check_server, make_files, open_site, outcomes, run, the_release
from tests.unit.release.wheels import make_wheel, sparse

pytestmark = pytest.mark.integration

COMMIT = "c" * 40
PASSING = ("409", "504")
FINAL = ("401", "403", "422")
ROUTES = ("repository", "ref", "immutable", "find", "list-releases", "create", "list", "publish", "upload")


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return make_files(tmp_path / "dist", {"a.bin": 1000, "b.bin": 40_000})


def attempt(site: Site, *files: Path, **asked: Any) -> ReleaseRecord | None:
    """What a run tells, or None if it was refused; that must have a reason, and be before anything is sent."""
    try:
        return run(site, *files, **asked)
    except ReleaseRefused as error:
        refusal = error
    assert refusal.what
    assert not site.uploads(), "refused, and yet something was sent"
    return None


@pytest.mark.parametrize("status", [*PASSING, *FINAL, "404"])
@pytest.mark.parametrize("times", [1, 0], ids=["once", "always"])
def test_any_status_anywhere_is_an_answer(files: list[Path], status: str, times: int) -> None:
    for route in ROUTES:
        with Site(clock=VirtualClock(), faults=[Fault(status, route=route, times=times)]) as site:
            record = attempt(site, *files, commit=COMMIT)
            if record:
                check_server(site, record, files)
                told = [*record.notes, *(asset.reason for asset in record.assets if not asset.live)]
                assert record.published or any(told), route
            if status in PASSING and times:
                assert record, route
                assert record.published, route
                assert all(asset.live for asset in record.assets), route
                assert len(site.state.releases) == 1, route


def test_a_wait_of_a_day_is_not_waited_for(files: list[Path]) -> None:
    with Site(clock=VirtualClock(), faults=[Fault("403-seconds", "a.bin", times=0, seconds=86_400)]) as site:
        record = run(site, *files)
        assert len(site.uploads()) == 1
        assert "asks to wait 86,400 s" in record.assets[0].reason
        assert not any(asset.live for asset in record.assets)
        assert site.clock.wall() - START < 3600
        assert the_release(site).draft
    refusing = Site(clock=VirtualClock(), faults=[Fault("429", route="repository", seconds=86_400)])
    with refusing as site, pytest.raises(ReleaseRefused, match="asks to wait 86,400 s"):
        run(site, *files)


def test_a_release_that_somebody_deletes_meanwhile_is_told_once(tmp_path: Path) -> None:
    files = make_files(tmp_path / "many", {f"f{n:02}.bin": 500 + n for n in range(30)})
    with Site(clock=VirtualClock()) as site:

        def delete(_entry: dict[str, Any]) -> None:
            if len(site.uploads()) > 5:
                site.state.releases.clear()

        site.arrived = delete
        record = run(site, *files)
        assert not record.published
        assert {"the release was deleted during the upload"} & {asset.reason for asset in record.assets}
        assert len(site.uploads()) < 40, "every asset was tried to the end"


def test_a_tag_that_is_made_of_another_commit_meanwhile_is_not_published_onto(files: list[Path]) -> None:
    with Site(clock=VirtualClock()) as site:

        def push(_entry: dict[str, Any]) -> None:
            if site.uploads():
                site.state.tags["v1"] = "d" * 40

        site.arrived = push
        record = run(site, *files, commit=COMMIT)
        assert not record.published
        assert the_release(site).draft
        assert any("the tag v1 points to commit dddddddddddd" in note for note in record.notes)


def test_what_people_wrote_on_the_page_stays(files: list[Path]) -> None:
    with Site(clock=VirtualClock()) as site:
        site.state.add_release("v1", body="Thanks to everybody.\n")
        run(site, *files)
        page = the_release(site).body
        assert page.startswith("Thanks to everybody.\n\n" + BEGIN)
        assert page.endswith(END + "\n")
    assert merge_notes(f"above\n{BEGIN}\nold\n{END}\nbelow\n", "new\n") == f"above\n{BEGIN}\nnew\n{END}\nbelow\n"
    assert merge_notes(f"{BEGIN}\ncut off in the middle", "new") == merge_notes("", "new")


def test_the_page_of_a_published_release_follows_what_is_added(tmp_path: Path) -> None:
    wheels = [make_wheel(tmp_path, family) for family in ("sm9x", "sm10x")]
    with Site(clock=VirtualClock(), faults=[Fault("422-odd", wheels[1].name)]) as site:
        assert outcomes(run(site, *wheels))[wheels[1].name] == "failed"
        assert f"- `{wheels[1].name}`: failed" in the_release(site).body
        run(site, wheels[1])
        assert "Not in this release" not in the_release(site).body
        assert all(f"| `{wheel.name}` |" in the_release(site).body for wheel in wheels)
        patches = sum(entry["method"] == "PATCH" for entry in site.state.log)
        run(site, *wheels)
        assert sum(entry["method"] == "PATCH" for entry in site.state.log) == patches, "written again for nothing"


def test_somebody_elses_publishing_is_not_taken_for_ours(files: list[Path]) -> None:
    with Site(clock=VirtualClock(), faults=[Fault("502-before", route="publish", times=0)]) as site:

        def publish(entry: dict[str, Any]) -> None:
            if entry["method"] == "PATCH" and len(site.state.releases) == 1:
                site.state.add_release("v1", draft=False)

        site.arrived = publish
        assert not run(site, *files).published


@pytest.mark.parametrize("count", [29, 30, 31, 97, 100, 101, 200])
def test_pages_end_where_they_end(count: int) -> None:
    with Site(clock=VirtualClock()) as site:
        draft = site.state.add_release("v1")
        for number in range(count):
            site.state.add_asset(draft, f"old-{number}.bin", state="uploaded", size=1, digest=f"sha256:{'0' * 64}")
        (found,) = open_site(site).find("v1")
        assert len(open_site(site).assets(found)) == count
        draft.tag = "v0"
        for number in range(count - 1):
            site.state.add_release(f"w{number}")
        assert len(open_site(site).releases()) == count
        assert [one.tag for one in open_site(site).find("v0")] == ["v0"]


@pytest.mark.parametrize(
    ("token", "says"),
    [("secret-token\n", None), ("secret token", "invalid characters"), ("sécret", "invalid characters")],
)
def test_a_token_that_is_no_token_is_not_shown(files: list[Path], token: str, says: str | None) -> None:
    with Site(clock=VirtualClock()) as site:
        if says is None:
            assert run_with(site, token, files).published
            return
        with pytest.raises(UsageError, match=says) as refused:
            run_with(site, token, files)
        assert token not in str(refused.value)


def run_with(site: Site, token: str, files: list[Path]) -> ReleaseRecord:
    store = open_github("octo/wheels", {"GITHUB_TOKEN": token, "GITHUB_API_URL": site.api_url}, clock=site.clock)
    return release(store, ReleaseRequest("v1", tuple(files)), clock=site.clock)


def test_a_proxy_is_not_asked_for_this_very_machine(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Site(clock=VirtualClock()) as site:
        assert run(site, *files).published
        (live,) = open_site(site).find("v1")
        asset = open_site(site).assets(live)[-1]
        assert b"".join(open_site(site).read(asset))


def test_a_redirect_keeps_what_was_asked_for() -> None:
    """A renamed repository answers with a redirect that may not repeat the query."""
    with Site(clock=VirtualClock()) as site:
        draft = site.state.add_release("v1")
        for number in range(150):
            site.state.add_asset(draft, f"old-{number}.bin", state="uploaded", size=1)
        store = open_site(site)
        (found,) = store.find("v1")
        moved = store.requests._url(f"repos/octo/wheels/releases/{found.id}/assets")
        real = store.requests._client

        class Moved:
            def request(self, method: str, url: str, **parts: Any) -> Any:
                if "/old-name/" in url:
                    import httpx

                    answer = httpx.Response(301, headers={"location": moved}, request=httpx.Request(method, url))
                    return type("Answer", (), {"raw_response": answer})
                return real(1.0).request(method, url, **parts)

        store.requests._client = lambda _read: Moved()  # type: ignore[assignment,return-value]
        assert len(list(store.requests.pages("repos/old-name/x"))) == 150


@pytest.mark.parametrize("fault", ["redirect-nowhere", "redirect-junk"])
def test_a_download_that_leads_nowhere_is_a_failure(files: list[Path], fault: str) -> None:
    with Site(clock=VirtualClock()) as site:
        run(site, *files)
        store = open_site(site)
        (live,) = store.find("v1")
        asset = store.assets(live)[0]
        site.faults.add([Fault(fault, route="asset")])
        with pytest.raises(StoreFailure) as failure:
            b"".join(store.read(asset))
        assert failure.value.kind in {FailureKind.ASSET, FailureKind.TRANSIENT}


def test_a_download_that_all_but_stalls_is_given_up(tmp_path: Path) -> None:
    (file,) = make_files(tmp_path / "dist", {"a.bin": 3 << 20})

    class Slow(VirtualClock):
        def monotonic(self) -> float:
            self.now += 100
            return self.now

    with Site(clock=VirtualClock()) as site:
        run(site, file)
        environment = {"GITHUB_TOKEN": "secret-token", "GITHUB_API_URL": site.api_url}
        store = open_github("octo/wheels", environment, clock=Slow())
        (live,) = store.find("v1")
        asset = next(a for a in store.assets(live) if a.name == "a.bin")
        with pytest.raises(StoreFailure, match="stalled at"):
            b"".join(store.read(asset))


@pytest.mark.parametrize("how", ["grows", "shrinks", "goes", "is another of that size"])
def test_a_file_that_changes_under_way_fails_alone(tmp_path: Path, how: str) -> None:
    files = make_files(tmp_path / "dist", {"a.bin": 900, "b.bin": 3 << 20, "c.bin": 4 << 20})
    victim = files[1]
    done = threading.Event()

    class Meddler:
        say = hashed = opened = settled = lambda *_: None

        def sent(self, name: str, *_: object) -> None:
            if name != victim.name or done.is_set():
                return
            done.set()
            if how == "grows":
                with victim.open("ab") as file:
                    file.write(bytes(1 << 20))
            elif how == "shrinks":
                os.truncate(victim, 1 << 20)
            elif how == "goes":
                victim.unlink()
            else:
                with victim.open("r+b") as file:
                    file.seek(2 << 20)
                    file.write(bytes(1 << 20))

    with Site(clock=VirtualClock()) as site:
        record = run(site, *files, progress=Meddler())  # type: ignore[arg-type]
        told = outcomes(record)
        assert told["a.bin"] == told["c.bin"] == "uploaded"
        if how == "goes":  # it is open: what is read of it is what was wanted
            assert told["b.bin"] == "uploaded"
        elif told["b.bin"] == "adopted":  # the server had all that was wanted before more came
            assert how == "grows"
        else:
            assert told["b.bin"] == "failed"
            assert "b.bin" not in {asset.name for asset in the_release(site).assets.values()}
        assert record.published


def test_what_nobody_foresaw_in_one_asset_stops_no_other(tmp_path: Path, files: list[Path]) -> None:
    class Broken:
        say = hashed = opened = settled = lambda *_: None

        def sent(self, name: str, *_: object) -> None:
            if name == "b.bin":
                raise ArithmeticError("odd")

    store = DirectoryStore(tmp_path / "store")
    record = release(store, ReleaseRequest("v1", tuple(files)), progress=Broken())  # type: ignore[arg-type]
    assert outcomes(record)["a.bin"] == "uploaded"
    assert outcomes(record)["b.bin"] == "failed"
    assert next(asset.reason for asset in record.assets if not asset.live) == "ArithmeticError: odd"
    assert record.published
    assert sorted(p.name for p in (store.root / "v1").iterdir() if not p.name.startswith(".fatwheel")) == [
        "SHA256SUMS", "a.bin", "manifest.json",
    ]  # fmt: skip


def test_a_renamed_asset_is_not_published_even_if_it_cannot_be_deleted_at_once(files: list[Path]) -> None:
    faults = [Fault("renamed", "b.bin", times=0), Fault("502-before", route="delete", times=2)]
    with Site(clock=VirtualClock(), faults=faults) as site:
        record = run(site, *files)
        check_server(site, record, files)
        assert record.published
        assert len(site.uploads()) == 4
    with Site(clock=VirtualClock(), faults=[faults[0], Fault("502-before", route="delete", times=0)]) as site:
        record = run(site, *files)
        check_server(site, record, files)
        assert not record.published


def test_the_limit_of_github_holds_whatever_a_declaration_says(tmp_path: Path, files: list[Path]) -> None:
    with Site(clock=VirtualClock()) as site:
        fat = sparse(tmp_path / "fat.bin", 1 << 31)
        record = run(site, *files, fat, size_limit=1 << 40)
        assert outcomes(record)["fat.bin"] == "withheld"
        assert not [entry for entry in site.uploads() if entry["name"] == "fat.bin"]


@pytest.mark.parametrize("fault", ["stall-reply", "stall-reading"])
def test_ctrl_c_does_not_wait_for_a_server_that_says_nothing(tmp_path: Path, fault: str) -> None:
    files = make_files(tmp_path / "dist", {"a.bin": 9000, "b.bin": 20 << 20})
    with Site(faults=[Fault(fault, "b.bin", times=0, at=0.1)]) as site:
        environment = os.environ | {"GITHUB_TOKEN": "secret-token", "GITHUB_API_URL": site.api_url}
        asked = ["--store", "github:octo/wheels", "--tag", "v1", "--record", str(tmp_path / "run.json")]
        process = subprocess.Popen(
            [sys.executable, "-m", "fatwheel", "release", *asked, *map(str, files)],
            cwd=Path.cwd(), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        until = time.monotonic() + 60
        while not any(e["name"] == "b.bin" and e["bytes"] >= 2 << 20 for e in site.uploads()):
            assert time.monotonic() < until
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=50)  # the limits would let it wait for 60 and for 300 s
        assert process.returncode == 130
        assert "Traceback" not in errors
        assert "secret-token" not in errors + (tmp_path / "run.json").read_text()


def test_old_releases_go_with_their_tags_whatever_the_server_does() -> None:
    faults = [
        Fault("502-committed", route="delete-release"), Fault("502-committed", route="delete-tag"),
        Fault("403", "v2", route="delete-tag", times=0), Fault("429", route="list-releases"),
    ]  # fmt: skip
    with Site(clock=VirtualClock(), faults=faults) as site:
        for number in range(1, 6):
            site.state.add_release(f"v{number}", draft=False)
            site.clock.sleep(86_400)
        inspector = Inspector(open_site(site), clock=site.clock)
        found = inspector.requests.call(inspector.store.releases)
        pruning = find_expired(found, RetentionPolicy("v{version}", 2, None), site.clock.wall())
        assert [one.tag for one in pruning.expired] == ["v3", "v2", "v1"]
        assert delete_releases(inspector, pruning.expired) == ["v2: deleted the release, but not its tag: 403 No"]
        assert {one.tag for one in site.state.releases.values()} == {"v5", "v4"}
        assert set(site.state.tags) == {"v5", "v4", "v2"}


def test_the_limits_are_in_order() -> None:
    assert UploadLimits().reply <= UploadLimits().read <= UploadLimits().deadline
    assert RetryPolicy().limited_wait <= RetryPolicy().longest_limited_wait
