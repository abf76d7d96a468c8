"""Releases to a GitHub repository: drafts, publishing, limits, refusals and resuming, over real HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from fatwheel.errors import ReleaseRefused
from fatwheel.records.manifest import Manifest
from fatwheel.records.release import ReleaseRecord
from fatwheel.release.make_release import release
from fatwheel.release.request import ReleaseRequest
from fatwheel.stores.retry import RetryPolicy
from fatwheel.stores.store_errors import StoreFailure
from tests.fake_github.clock import VirtualClock
from tests.fake_github.faults import Fault
from tests.fake_github.server import Site
from tests.fake_github.state import UPLOADED
from tests.fake_github.workshop import check_server, make_files, open_site, outcomes, run, the_release
from tests.unit.release.wheels import FAMILIES, digest, make_plan, make_wheel, record_build, sparse, wheel_name

pytestmark = pytest.mark.integration
COMMIT = "c" * 40
MIB = 1 << 20


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return make_files(tmp_path / "dist", {f"f{number}.bin": 2000 + number for number in range(5)})


def site(**options: Any) -> Site:
    return Site(clock=VirtualClock(), **options)


def test_eleven_of_twelve_are_published_whatever_happens_to_some(tmp_path: Path) -> None:
    good = make_files(tmp_path / "dist", {f"w{n:02}.bin": 4 * MIB for n in range(11)})
    fat = sparse(tmp_path / "dist" / "w99.bin", 2147483648)
    reset, landed, leftover = good[3], good[5], good[7]
    with site(faults=[Fault("rst", reset.name, at=0.5), Fault("502-committed", landed.name)]) as fake:
        draft = fake.state.add_release("v1", target=COMMIT)
        fake.state.add_asset(draft, leftover.name)
        record = run(fake, *good, fat, commit=COMMIT)
        check_server(fake, record, good)
        assert record.published
        assert [a.name for a in record.assets if not a.live] == [fat.name]
        assert outcomes(record)[fat.name] == "withheld"
        assert outcomes(record)[landed.name] == "adopted"
        needed = sum(asset.size or 0 for asset in record.assets if asset.live)
        cost = sum(e["bytes"] for e in fake.uploads() if e["fault"] == "rst")
        sent = sum(e["bytes"] for e in fake.uploads())
        assert sent - cost < 1.1 * needed
        assert fake.most_concurrent <= 3


@pytest.mark.parametrize("say", [True, False])
def test_three_hundred_wheels_with_sidecars_converge_under_the_limits(tmp_path: Path, say: bool) -> None:
    files = make_files(tmp_path / "dist", {f"f{n:03}.bin": 100 for n in range(300)})
    files += make_files(tmp_path / "dist", {f"f{n:03}.bin.sig": 10 for n in range(300)})
    with site(limits={"minute": 60, "hour": 400, "say": say}) as fake:  # stricter than the pace: others write too
        record = run(fake, *files)
        check_server(fake, record, files)
        assert all(asset.live for asset in record.assets)
        assert record.published
        assert fake.limiter.refused > 0
        assert sum(entry["status"] == 201 for entry in fake.uploads()) == 602


def test_the_pace_stays_below_githubs_own_limits(tmp_path: Path) -> None:
    files = make_files(tmp_path / "dist", {f"f{n:03}.bin": 100 for n in range(300)})
    with site(limits={"minute": 80, "hour": 500}) as fake:
        # One worker: on a virtual clock another's sleep would make a request late that is on its way.
        assert run(fake, *files, policy=RetryPolicy(workers=1)).published
        assert fake.limiter.refused == 0


def test_plus_signs_stay_in_names(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "sm9x")
    with site() as fake:
        assert outcomes(run(fake, wheel))[wheel.name] == "uploaded"
        assert wheel.name in {asset.name for asset in the_release(fake).assets.values()}


def test_an_enterprise_server_works(files: list[Path]) -> None:
    with site(enterprise=True) as fake:
        record = run(fake, *files)
        check_server(fake, record, files)
        assert record.published
        assert all(entry["path"].startswith("/api/uploads/") for entry in fake.uploads())


def test_a_server_without_digests_is_read_back(files: list[Path]) -> None:
    with site(digests=False) as fake:
        assert run(fake, *files).published
        again = run(fake, *files)
        assert set(outcomes(again).values()) == {"identical"}
        other = make_files(files[0].parent / "other", {files[0].name: 2000})
        other[0].write_bytes(b"x" * 2000)
        assert outcomes(run(fake, other[0]))[files[0].name] == "conflict"


def test_a_second_run_sends_nothing(files: list[Path]) -> None:
    with site() as fake:
        run(fake, *files)
        before = len(fake.uploads())
        record = run(fake, *files)
        assert set(outcomes(record).values()) == {"identical"}
        assert len(fake.uploads()) == before


def test_a_published_release_gains_what_is_missing(files: list[Path]) -> None:
    with site() as fake:
        run(fake, *files[:3])
        record = run(fake, *files)
        check_server(fake, record, files)
        assert [outcomes(record)[f.name] for f in files] == ["identical"] * 3 + ["uploaded"] * 2
        assert outcomes(record)["manifest.json"] == "replaced"


def test_an_immutable_release_that_holds_all_is_done(files: list[Path]) -> None:
    with site(immutable=True) as fake:
        record = run(fake, *files)
        assert record.published
        assert any("immutable" in note for note in record.notes)
        writes = [e for e in fake.state.log if e["method"] != "GET"]
        again = run(fake, *files)
        assert all(asset.live for asset in again.assets)
        assert again.refused is None
        assert [e for e in fake.state.log if e["method"] != "GET"] == writes


def test_an_immutable_release_that_lacks_some_is_left_alone(files: list[Path]) -> None:
    with site(immutable=True) as fake:
        run(fake, *files[:3])
        uploads = len(fake.uploads())
        record = run(fake, *files)
        assert record.refused
        assert outcomes(record)[files[4].name] == "not-sent"
        assert len(fake.uploads()) == uploads


def test_a_tag_that_an_immutable_release_has_used_is_refused(files: list[Path]) -> None:
    with site(immutable=True) as fake:
        run(fake, *files[:1])
        fake.state.releases.clear()
        with pytest.raises(ReleaseRefused, match="used by an immutable release"):
            run(fake, *files)


def test_one_draft_is_made_and_the_oldest_is_taken(files: list[Path]) -> None:
    with site() as fake:
        first, second = fake.state.add_release("v1"), fake.state.add_release("v1")
        record = run(fake, *files)
        assert not first.draft
        assert second.draft
        assert not second.assets
        assert record.notes == ["1 other draft of v1 not changed"]


def test_a_draft_is_found_behind_many_releases_and_its_assets_behind_many_assets(files: list[Path]) -> None:
    with site() as fake:
        draft = fake.state.add_release("v1", target=COMMIT)
        for number in range(230):
            fake.state.add_release(f"old-{number}", draft=False)
            fake.state.add_asset(draft, f"old-{number:03}.bin", state=UPLOADED, size=1, digest=f"sha256:{'2' * 64}")
        fake.state.add_asset(draft, files[0].name)  # a leftover on the third page
        record = run(fake, *files, commit=COMMIT)
        assert record.published
        assert not draft.draft
        assert all(asset.live for asset in record.assets)


def test_the_asset_limit_is_counted_before_anything_is_sent(files: list[Path]) -> None:
    with site() as fake:
        draft = fake.state.add_release("v1")
        for number in range(995):
            fake.state.add_asset(draft, f"old-{number}.bin", state=UPLOADED, size=1)
        with pytest.raises(ReleaseRefused, match="the limit is 1,000"):
            run(fake, *files)
        assert not fake.uploads()


def test_slices_and_placeholders_are_not_for_users(tmp_path: Path) -> None:
    wheels = [make_wheel(tmp_path, family) for family in FAMILIES]
    record_build(wheels[0], FAMILIES[0], slice=["page", "rope"])
    record_build(wheels[1], FAMILIES[1], placeholder=True)
    record_build(wheels[2], FAMILIES[2])
    with site() as fake:
        record = run(fake, *wheels)
        assert [outcomes(record)[wheel.name] for wheel in wheels] == ["withheld", "withheld", "uploaded"]


@pytest.mark.parametrize(
    ("state", "token", "says"),
    [
        ({"may_write": False}, "secret-token", "the token has no write access"),
        ({"archived": True}, "secret-token", "archived"),
        ({"tags": {"v1": "d" * 40}}, "secret-token", "the tag v1 points to commit dddddddddddd, not cccccccccccc"),
        ({}, "wrong", "401 Bad credentials"),
        ({}, "", "no token"),
    ],
)
def test_what_would_be_refused_later_is_refused_now(
    files: list[Path], state: dict[str, Any], token: str, says: str
) -> None:
    with site() as fake:
        for key, value in state.items():
            setattr(fake.state, key, value)
        request = ReleaseRequest("v1", tuple(files), commit=COMMIT)
        with pytest.raises(ReleaseRefused, match=says):
            release(open_site(fake, token=token), request, clock=fake.clock)
        assert not fake.uploads()
        assert not fake.state.releases


def test_the_token_never_leaves_for_a_foreign_upload_host(files: list[Path]) -> None:
    with site() as fake:
        fake.shapes.uploads = "https://uploads.evil.example/repos/octo/wheels"
        record = run(fake, *files)
        assert not any(asset.live for asset in record.assets)
        assert "the token was not sent" in record.assets[0].reason


def test_a_network_that_is_not_there_refuses_with_a_reason(files: list[Path]) -> None:
    fake = site()
    with fake:
        store = open_site(fake)
    with pytest.raises(ReleaseRefused, match="ConnectError"):
        release(store, ReleaseRequest("v1", tuple(files)), clock=fake.clock)


def test_a_complete_release_stays_a_draft_until_it_is_whole(tmp_path: Path) -> None:
    wheels = [make_wheel(tmp_path, family) for family in FAMILIES]
    with site(faults=[Fault("422-odd", wheels[0].name, times=0)]) as fake:
        record = run(fake, *wheels, plan=make_plan("complete"), commit=COMMIT)
        assert not record.published
        assert outcomes(record)[wheel_name(FAMILIES[1])] == "uploaded"
        assert f"{wheels[0].name}.metadata" not in {a.name for a in the_release(fake).assets.values()}
    with site() as fake:
        assert run(fake, *wheels, plan=make_plan("complete")).published


def test_a_newer_run_replaces_in_a_draft_of_the_same_commit_only(tmp_path: Path, files: list[Path]) -> None:
    newer = make_files(tmp_path / "newer", {files[0].name: 2500})
    with site() as fake:
        run(fake, *files, commit=COMMIT, draft=True)
        assert outcomes(run(fake, newer[0], commit=COMMIT, draft=True))[files[0].name] == "replaced"
        with pytest.raises(ReleaseRefused, match="belongs to commit"):
            run(fake, *files, commit="d" * 40)
        assert outcomes(run(fake, *files))[files[0].name] == "conflict"
        record = run(fake, *files, replace=frozenset({files[0].name}))
        check_server(fake, record, files)
        assert outcomes(record)[files[0].name] == "replaced"


def test_the_manifest_keeps_what_an_earlier_run_knew(tmp_path: Path) -> None:
    wheels = [make_wheel(tmp_path, family) for family in FAMILIES]
    for wheel, family in zip(wheels, FAMILIES, strict=True):
        record_build(wheel, family)
    with site() as fake:
        run(fake, *wheels[:2], plan=make_plan())
        record = run(fake, wheels[2], plan=make_plan())
        assert all(asset.live for asset in record.assets)
        data = next(a.content for a in the_release(fake).assets.values() if a.name == "manifest.json")
        manifest = Manifest.model_validate_json(data or b"")
        assert {asset.name for asset in manifest.assets if asset.build} == {wheel.name for wheel in wheels}
        sums = next(a.content for a in the_release(fake).assets.values() if a.name == "SHA256SUMS")
        assert f"{digest(wheels[0])}  {wheels[0].name}" in (sums or b"").decode()


def test_two_writers_at_once_lose_nothing(files: list[Path]) -> None:
    with site() as fake:
        records: list[ReleaseRecord] = []
        first = threading.Thread(target=lambda: records.append(run(fake, *files, draft=True)))
        first.start()
        records.append(run(fake, *files, draft=True))
        first.join()
        record = run(fake, *files)
        assert record.published
        assert all(asset.live for asset in record.assets)


def test_a_file_that_changes_meanwhile_fails_alone(files: list[Path]) -> None:
    with site(faults=[Fault("502-before", files[2].name)]) as fake:

        class Meddler:
            say = hashed = opened = settled = lambda *_: None

            def sent(self, *_: object) -> None:
                files[2].write_bytes(b"changed")

        record = run(fake, *files, progress=Meddler())  # type: ignore[arg-type]
        failed = [asset for asset in record.assets if not asset.live]
        assert [asset.name for asset in failed] == [files[2].name]
        assert failed[0].reason == "the file changed during the release"


def test_reading_follows_to_the_storage_without_the_token(files: list[Path]) -> None:
    with site() as fake:
        run(fake, *files)
        store = open_site(fake)
        (live,) = store.find("v1")
        asset = next(a for a in store.assets(live) if a.name == files[0].name)
        assert b"".join(store.read(asset)) == files[0].read_bytes()
        assert asset.url == f"https://github.com/octo/wheels/releases/download/v1/{files[0].name}"


def test_an_unknown_repository_is_an_answer(files: list[Path]) -> None:
    with site() as fake:
        store = open_site(fake)
        store.repository, store._base = "octo/other", "repos/octo/other"
        with pytest.raises(ReleaseRefused, match="no such repository"):
            release(store, ReleaseRequest("v1", tuple(files)), clock=fake.clock)
        with pytest.raises(StoreFailure):
            store.releases()


def test_a_killed_run_resumes_from_its_record(tmp_path: Path) -> None:
    """SIGKILL while an asset is on its way: the next run sends what is missing, and nothing twice."""
    files = make_files(tmp_path / "dist", {f"f{n}.bin": 600_000 + n for n in range(30)})
    with Site() as fake:
        environment = os.environ | {"GITHUB_TOKEN": "secret-token", "GITHUB_API_URL": fake.api_url, "GITHUB_SHA": ""}
        environment.pop("GITHUB_ACTIONS", None)
        command = [sys.executable, "-m", "fatwheel", "release", "--json"]
        asked = ["--store", "github:octo/wheels", "--tag", "v1", "--record", str(tmp_path / "run.json")]
        fake.slow = 1_500_000.0
        where = {"cwd": Path.cwd(), "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen([*command, *asked, *map(str, files)], **where)
        until = time.monotonic() + 60
        while sum(e.get("status") == 201 for e in fake.uploads()) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        fake.slow = 0.0
        while fake.concurrent:
            time.sleep(0.01)
        done = [e["name"] for e in fake.uploads() if e.get("status") == 201]
        assert 2 <= len(done) < len(files)
        resumed = subprocess.run([*command, "--resume", str(tmp_path / "run.json")], **where, check=True)
        record = ReleaseRecord.model_validate(json.loads(resumed.stdout))
        check_server(fake, record, files)
        assert record.published
        assert len(fake.state.releases) == 1
        twice = [e["name"] for e in fake.uploads() if e.get("status") == 201]
        assert sorted(twice) == sorted(set(twice)), "an asset was sent again"
        assert {outcomes(record)[name] for name in done} == {"identical"}


def test_a_draft_that_no_list_shows_yet_is_known_from_the_record(files: list[Path]) -> None:
    with site() as fake:
        run(fake, *files[:2], draft=True)
        draft = the_release(fake)
        draft.hidden = 100
        assert run(fake, *files, release_id=str(draft.id)).published
        assert the_release(fake) is draft


def test_a_draft_whose_making_was_not_answered_gets_no_twin(files: list[Path]) -> None:
    with site(faults=[Fault("late-committed", route="create", seconds=3)]) as fake:
        record = run(fake, *files)
        assert record.published
        assert len(fake.state.releases) == 1
        assert [e["route"] for e in fake.state.log].count("create") == 1


def test_a_digest_that_comes_late_is_waited_for(files: list[Path]) -> None:
    with site(faults=[Fault("null-digest", times=0)]) as fake:
        assert run(fake, *files).published
        assert not [entry for entry in fake.state.log if entry["route"] == "blob"]


def test_ctrl_c_ends_soon_and_keeps_what_is_there(tmp_path: Path) -> None:
    files = make_files(tmp_path / "dist", {f"f{n}.bin": 3_000_000 + n for n in range(4)})
    with Site() as fake:
        fake.slow = 1_000_000.0
        environment = os.environ | {"GITHUB_TOKEN": "secret-token", "GITHUB_API_URL": fake.api_url}
        asked = ["--store", "github:octo/wheels", "--tag", "v1", "--record", str(tmp_path / "run.json")]
        process = subprocess.Popen(
            [sys.executable, "-m", "fatwheel", "release", *asked, *map(str, files)],
            cwd=Path.cwd(), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        until = time.monotonic() + 60
        while not any(e["bytes"] > 500_000 for e in fake.uploads()) and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Traceback" not in errors
        assert "secret-token" not in errors + (tmp_path / "run.json").read_text()
        assert the_release(fake).draft
