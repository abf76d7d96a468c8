"""The fault matrix: every kind of fault at every position, against a real HTTP server on a virtual clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from fatwheel.stores.retry import RetryPolicy
from tests.fake_github.clock import VirtualClock
from tests.fake_github.faults import ASSET_FAULTS, JSON_FAULTS, RELEASE_FAULTS, UPLOAD_FAULTS, Fault
from tests.fake_github.server import Site
from tests.fake_github.workshop import check_server, make_files, outcomes, run, the_release

pytestmark = pytest.mark.integration

SIZES = {"a-1.bin": 3000, "b-1.bin": 70_000, "c-1.bin": 200_000}
LANDS = {"502-committed", "fin-committed", "fin-settling", "stall-committed", "html-201", "cut-201", "late-committed"}


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return make_files(tmp_path / "dist", SIZES)


@pytest.mark.parametrize("kind", UPLOAD_FAULTS)
@pytest.mark.parametrize("victim", ["a-1.bin", "b-1.bin"])
def test_a_passing_fault_costs_an_attempt_and_no_asset(files: list[Path], kind: str, victim: str) -> None:
    with Site(clock=VirtualClock(), faults=[Fault(kind, victim)]) as site:
        record = run(site, *files)
        check_server(site, record, files)
        assert all(asset.live for asset in record.assets), record
        assert record.published
        assert outcomes(record)[victim] == ("adopted" if kind in LANDS else "uploaded")
        others = [entry for entry in site.uploads() if entry["name"] != victim]
        assert all(entry["attempt"] == 1 for entry in others), "another asset was sent twice"
        if kind in LANDS:
            assert len([entry for entry in site.uploads() if entry["name"] == victim]) == 1


@pytest.mark.parametrize("kind", UPLOAD_FAULTS)
def test_a_fault_on_the_second_attempt_is_no_worse(files: list[Path], kind: str) -> None:
    faults = [Fault("502-middle", "b-1.bin", attempt=1), Fault(kind, "b-1.bin", attempt=2)]
    with Site(clock=VirtualClock(), faults=faults) as site:
        record = run(site, *files)
        check_server(site, record, files)
        assert all(asset.live for asset in record.assets), record


@pytest.mark.parametrize("kind", [k for k in UPLOAD_FAULTS if k not in LANDS | {"null-digest", "redirect"}])
def test_a_fault_that_stays_fails_its_asset_alone(files: list[Path], kind: str) -> None:
    policy = RetryPolicy(attempts=2) if kind.startswith("stall") else None  # they cost real time
    with Site(clock=VirtualClock(), faults=[Fault(kind, "b-1.bin", times=0, seconds=2)]) as site:
        record = run(site, *files, policy=policy)
        check_server(site, record, files)
        assert outcomes(record)["b-1.bin"] == "failed"
        assert outcomes(record)["a-1.bin"] == outcomes(record)["c-1.bin"] == "uploaded"
        assert record.published
        assert next(asset for asset in record.assets if not asset.live).reason


@pytest.mark.parametrize("kind", ASSET_FAULTS)
@pytest.mark.parametrize("victim", ["a-1.bin", "c-1.bin"])
def test_what_no_retry_helps_is_tried_once(files: list[Path], kind: str, victim: str) -> None:
    with Site(clock=VirtualClock(), faults=[Fault(kind, victim, times=0)]) as site:
        record = run(site, *files)
        check_server(site, record, files)
        assert outcomes(record)[victim] == "failed"
        assert len([entry for entry in site.uploads() if entry["name"] == victim]) == 1
        assert sum(asset.live for asset in record.assets) == 4


@pytest.mark.parametrize("kind", RELEASE_FAULTS)
def test_a_release_that_refuses_is_asked_once(files: list[Path], kind: str) -> None:
    with Site(clock=VirtualClock(), faults=[Fault(kind, times=0)]) as site:
        record = run(site, *files)
        check_server(site, record, files)
        assert len(site.uploads()) == 1
        assert outcomes(record) == {
            "a-1.bin": "failed", "b-1.bin": "not-sent", "c-1.bin": "not-sent",
            "manifest.json": "not-sent", "SHA256SUMS": "not-sent",
        }  # fmt: skip
        assert not record.published


@pytest.mark.parametrize("kind", RELEASE_FAULTS)
def test_a_refusal_in_the_middle_keeps_what_is_there(files: list[Path], kind: str) -> None:
    with Site(clock=VirtualClock(), faults=[Fault(kind, "c-1.bin", times=0)]) as site:
        record = run(site, *files)
        check_server(site, record, files)
        assert outcomes(record)["a-1.bin"] == "uploaded"
        assert not record.published
        assert the_release(site).draft


@pytest.mark.parametrize("route", ["create", "publish", "list", "list-releases", "find", "repository"])
@pytest.mark.parametrize("kind", JSON_FAULTS)
def test_the_requests_around_the_uploads_are_patient(files: list[Path], route: str, kind: str) -> None:
    if (kind, route) == ("404", "repository"):
        pytest.skip("an unknown repository is an answer, not a fault")
    with Site(clock=VirtualClock(), faults=[Fault(kind, route=route)]) as site:
        record = run(site, *files)
        check_server(site, record, files)
        assert all(asset.live for asset in record.assets), record
        assert record.published
        assert len(site.state.releases) == 1, "a second draft was made"


@pytest.mark.parametrize("route", ["delete", "rename"])
@pytest.mark.parametrize("kind", JSON_FAULTS)
def test_a_swap_survives_a_fault(files: list[Path], tmp_path: Path, route: str, kind: str) -> None:
    commit = "a" * 40
    with Site(clock=VirtualClock()) as site:
        run(site, *files, commit=commit, draft=True)
        newer = make_files(tmp_path / "newer", {"b-1.bin": 71_000})
        site.faults.add([Fault(kind, "b-1.bin*", route=route)])
        record = run(site, files[0], newer[0], files[2], commit=commit)
        check_server(site, record, [files[0], newer[0], files[2]])
        assert outcomes(record)["b-1.bin"] == "replaced"
        assert site.faults.seen == [kind]
        assert record.published
