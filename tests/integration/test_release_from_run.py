"""Releases from a workflow run's artifacts: taken one at a time, read in place, dropped."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from fatwheel.errors import ReleaseRefused
from fatwheel.records.manifest import Manifest
from fatwheel.release.make_release import release
from fatwheel.release.request import ReleaseRequest
from fatwheel.release.sources import read_metadata
from fatwheel.release.zip_members import list_members
from fatwheel.stores.artifacts import WorkflowRun, open_run
from fatwheel.stores.directory import DirectoryStore
from fatwheel.stores.retry import RetryPolicy
from tests.fake_github.clock import VirtualClock
from tests.fake_github.faults import Fault
from tests.fake_github.server import Site
from tests.fake_github.workshop import check_server, open_site, outcomes, run, the_release
from tests.unit.release.wheels import FAMILIES, make_cell, make_plan, make_wheel, record_build, record_smoke

pytestmark = pytest.mark.integration
RUN = 77


def pack(*files: Path, method: int = zipfile.ZIP_STORED) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", method) as archive:
        for file in files:
            archive.write(file, file.name)
    return whole.getvalue()


def source(site: Site) -> WorkflowRun:
    return WorkflowRun("octo/wheels", str(RUN), open_site(site).requests)


@pytest.fixture
def wheels(tmp_path: Path) -> list[Path]:
    made = [
        make_wheel(tmp_path / "dist", family, payload=f"; pad = {os.urandom(50_000).hex()!r}") for family in FAMILIES
    ]
    for wheel, family in zip(made, FAMILIES, strict=True):
        record_build(wheel, family)
    return made


def beside(wheel: Path, ending: str) -> Path:
    return wheel.with_name(wheel.name + ending)


def upload_artifacts(site: Site, wheels: list[Path], method: int = zipfile.ZIP_STORED) -> None:
    for wheel, family in zip(wheels, FAMILIES, strict=True):
        site.state.add_artifact(
            RUN, make_cell(family).artifact, pack(wheel, beside(wheel, ".build.json"), method=method)
        )


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_run_becomes_a_release(wheels: list[Path], method: int) -> None:
    with Site(clock=VirtualClock()) as site:
        upload_artifacts(site, wheels, method)
        record = run(site, plan=make_plan("complete"), run=source(site))
        check_server(site, record, wheels)
        assert record.published
        assert [outcomes(record)[wheel.name] for wheel in wheels] == ["uploaded"] * 3
        assert outcomes(record)[f"{wheels[0].name}.metadata"] == "uploaded"
        data = next(a.content for a in the_release(site).assets.values() if a.name == "manifest.json")
        assert len([a for a in Manifest.model_validate_json(data or b"").assets if a.build]) == 3


def test_records_may_come_in_artifacts_of_their_own(wheels: list[Path]) -> None:
    record_smoke(wheels[1], "failed", "no kernel image")
    with Site(clock=VirtualClock()) as site:
        upload_artifacts(site, wheels)
        site.state.add_artifact(RUN, "smoke-sm10x", pack(beside(wheels[1], ".smoke.json")))
        record = run(site, plan=make_plan(), run=source(site))
        assert outcomes(record)[wheels[1].name] == "withheld"
        assert outcomes(record)[wheels[0].name] == "uploaded"
        assert record.published


def test_an_artifact_that_did_not_come_is_a_missing_wheel(wheels: list[Path]) -> None:
    with Site(clock=VirtualClock()) as site:
        upload_artifacts(site, wheels)
        artifacts = list(site.state.artifacts.values())
        artifacts[0].expired = True
        artifacts[1].content = b"not a zip"
        record = run(site, plan=make_plan(), run=source(site))
        assert outcomes(record)[wheels[0].name] == "missing"
        assert outcomes(record)[wheels[1].name] in {"missing", "failed"}
        assert outcomes(record)[wheels[2].name] == "uploaded"
        assert "the artifact demo-sm9x has expired" in record.notes


def test_a_raw_artifact_is_the_wheel_itself(wheels: list[Path]) -> None:
    with Site(clock=VirtualClock()) as site:
        site.state.add_artifact(RUN, wheels[0].name, wheels[0].read_bytes())
        record = run(site, run=source(site))
        check_server(site, record, wheels[:1])
        assert outcomes(record)[wheels[0].name] == "uploaded"
        assert outcomes(record)[f"{wheels[0].name}.metadata"] == "uploaded"


def test_without_a_plan_all_artifacts_with_files_are_taken(wheels: list[Path]) -> None:
    with Site(clock=VirtualClock()) as site:
        upload_artifacts(site, wheels)
        record = run(site, run=source(site))
        assert [outcomes(record)[wheel.name] for wheel in wheels] == ["uploaded"] * 3


def test_a_run_can_go_to_a_folder_too(wheels: list[Path], tmp_path: Path) -> None:
    with Site(clock=VirtualClock()) as site:
        upload_artifacts(site, wheels)
        store = DirectoryStore(tmp_path / "store")
        record = release(store, ReleaseRequest("v1", (), run=source(site)), clock=site.clock)
        assert record.published
        assert (store.root / "v1" / wheels[0].name).read_bytes() == wheels[0].read_bytes()


def test_faults_of_the_download_are_survived(wheels: list[Path]) -> None:
    faults = [Fault("502-before", route="artifact"), Fault("429", route="artifacts"), Fault("rst", route="artifact")]
    with Site(clock=VirtualClock(), faults=faults) as site:
        upload_artifacts(site, wheels)
        record = run(site, plan=make_plan("complete"), run=source(site))
        assert record.published
        assert sorted(site.faults.seen) == ["429", "502-before", "rst"]


def test_no_more_artifacts_are_on_the_disk_than_are_on_their_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    families = [f"sm{n}x" for n in range(20, 32)]
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spool))
    most = 0
    with Site(clock=VirtualClock()) as site:
        for family in families:
            wheel = make_wheel(tmp_path / "dist", family, payload=f"; pad = {os.urandom(20_000).hex()!r}")
            site.state.add_artifact(RUN, family, pack(wheel))

        class Watch:
            say = hashed = opened = settled = lambda *_: None

            def sent(self, *_: object) -> None:
                nonlocal most
                most = max(most, len(list(spool.iterdir())))

        record = run(site, run=source(site), progress=Watch(), policy=RetryPolicy(workers=2))  # type: ignore[arg-type]
        assert record.published
        assert 1 <= most <= 2
        assert list(spool.iterdir()) == []


def test_a_wheel_is_read_in_place(wheels: list[Path], tmp_path: Path) -> None:
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        place = tmp_path / f"{method}.zip"
        place.write_bytes(pack(*wheels, method=method))
        for member, wheel in zip(list_members(place), wheels, strict=True):
            assert b"".join(member.chunks()) == wheel.read_bytes()
            with member.open() as file:
                assert read_metadata(file) == read_metadata(wheel)


def test_where_a_run_is_looked_for() -> None:
    environment = {"GITHUB_TOKEN": "t", "GITHUB_REPOSITORY": "here/repo"}
    assert open_run("run:5", environment, None).spec == "run:here/repo/5"
    assert open_run("run:5", {}, "store/repo").spec == "run:store/repo/5"
    assert open_run("run:a/b/5", environment, None).spec == "run:a/b/5"


def test_a_damaged_wheel_in_an_artifact_stops_no_other(wheels: list[Path]) -> None:
    """Its stream breaks in the middle, which zlib tells in a way of its own."""
    with Site(clock=VirtualClock()) as site:
        whole = bytearray(pack(*wheels[:2], method=zipfile.ZIP_DEFLATED))
        with zipfile.ZipFile(io.BytesIO(whole)) as archive:
            start = archive.getinfo(wheels[1].name).header_offset
        whole[start + 4000 : start + 6000] = bytes(2000)
        site.state.add_artifact(RUN, "two", bytes(whole))
        site.state.add_artifact(RUN, "third", pack(wheels[2]))
        record = run(site, run=source(site))
        told = outcomes(record)
        assert [told[wheel.name] for wheel in wheels] == ["uploaded", "failed", "uploaded"]
        assert next(a for a in record.assets if a.outcome == "failed").reason.startswith("cannot read it")
        assert record.published


@pytest.mark.parametrize("content", [b"not a zip", b"", b"PK\x05\x06" + bytes(18), b"PK\x03\x04cut"])
def test_an_artifact_that_is_no_archive_fails_by_its_name(wheels: list[Path], content: bytes) -> None:
    with Site(clock=VirtualClock()) as site:
        site.state.add_artifact(RUN, "odd", content)
        site.state.add_artifact(RUN, "good", pack(wheels[0]))
        record = run(site, run=source(site))
        assert outcomes(record)[wheels[0].name] == "uploaded"
        if content.startswith(b"PK\x05"):  # an empty archive
            assert "odd" not in outcomes(record)
        else:
            assert outcomes(record)["odd"] == "failed"


def test_one_that_cannot_be_had_fails_alone(wheels: list[Path]) -> None:
    with Site(clock=VirtualClock()) as site:
        upload_artifacts(site, wheels)
        gone = next(iter(site.state.artifacts.values()))

        def refuse(entry: dict[str, Any]) -> None:
            if entry["path"].endswith(f"/artifacts/{gone.id}/zip"):
                gone.expired = True

        site.arrived = refuse
        record = run(site, plan=make_plan(), run=source(site))
        assert outcomes(record)[wheels[0].name] == "failed"
        assert "410 Artifact has expired" in next(a.reason for a in record.assets if a.outcome == "failed")
        assert [outcomes(record)[wheel.name] for wheel in wheels[1:]] == ["uploaded"] * 2


def test_records_that_cannot_be_had_refuse_all() -> None:
    """They may say that a wheel's test has failed."""
    with Site(clock=VirtualClock(), faults=[Fault("500", route="artifact", times=0)]) as site:
        site.state.add_artifact(RUN, "smoke-records", b"")
        with pytest.raises(ReleaseRefused):
            run(site, plan=make_plan(), run=source(site))
        assert not site.uploads()


def test_renamed_artifacts_are_named(wheels: list[Path]) -> None:
    with Site(clock=VirtualClock()) as site:
        upload_artifacts(site, wheels)
        next(iter(site.state.artifacts.values())).name = "demo-sm9x-retry"
        record = run(site, plan=make_plan(), run=source(site))
        assert outcomes(record)[wheels[0].name] == "missing"
        assert "the run has no artifact demo-sm9x; unplanned artifacts: demo-sm9x-retry" in record.notes


@pytest.mark.parametrize(
    "member", ["../../evil.whl", "/etc/evil.whl", "a/../b/evil.whl", "..\\..\\evil.whl", "a:evil.whl"]
)
def test_names_that_climb_out_write_nothing(tmp_path: Path, member: str) -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr(member, b"evil")
    before = {str(p) for p in tmp_path.rglob("*")}
    with Site(clock=VirtualClock()) as site:
        site.state.add_artifact(RUN, "evil", whole.getvalue())
        record = run(site, run=source(site), metadata=False)
        names = {asset.name for asset in the_release(site).assets.values()} if site.state.releases else set()
        assert names <= {"evil.whl", "manifest.json", "SHA256SUMS"}
        assert {str(p) for p in tmp_path.rglob("*")} == before
        assert outcomes(record)


def test_one_name_twice_is_no_matter_with_the_same_bytes_and_a_conflict_with_others(
    wheels: list[Path], tmp_path: Path
) -> None:
    other = make_wheel(tmp_path / "other", FAMILIES[0], payload="# another")
    with Site(clock=VirtualClock()) as site:
        site.state.add_artifact(RUN, "one", pack(wheels[0]))
        site.state.add_artifact(RUN, "same", pack(wheels[0]))
        record = run(site, run=source(site))
        assert all(asset.live for asset in record.assets)
        assert any("with the same content" in note for note in record.notes)
    with Site(clock=VirtualClock()) as site:
        site.state.add_artifact(RUN, "one", pack(wheels[0]))
        site.state.add_artifact(RUN, "two", pack(other))
        told = outcomes(run(site, run=source(site)))
        assert told[wheels[0].name] == "uploaded"
        assert sorted(outcome for name, outcome in told.items() if "/" in name) == ["conflict"]
    with Site(clock=VirtualClock()) as site:
        site.state.add_artifact(RUN, "one", pack(wheels[0]))
        assert all(asset.live for asset in run(site, wheels[0], run=source(site)).assets)
        assert outcomes(run(site, other, run=source(site), tag="v2"))[f"one/{other.name}"] == "conflict"


def test_a_run_that_is_not_there_is_told_at_once() -> None:
    with Site(clock=VirtualClock(), faults=[Fault("404", route="artifacts", times=0)]) as site:
        with pytest.raises(ReleaseRefused, match="no such run") as refused:
            run(site, run=source(site))
        assert "actions: read" in str(refused.value)
        assert len([entry for entry in site.state.log if entry["route"] == "artifacts"]) == 1


def test_what_is_too_large_goes_elsewhere_out_of_an_artifact_too(wheels: list[Path], tmp_path: Path) -> None:
    large = DirectoryStore(tmp_path / "large")
    fat = make_wheel(tmp_path / "fat", FAMILIES[0], payload="#" * 400_000)
    record_build(fat, FAMILIES[0])
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with Site(clock=VirtualClock()) as site:
            upload_artifacts(site, [fat, *wheels[1:]], method)
            record = run(
                site,
                plan=make_plan("complete"),
                run=source(site),
                size_limit=300_000,
                over="elsewhere",
                elsewhere=large,
            )
            told = next(asset for asset in record.assets if asset.name == fat.name)
            assert (told.outcome, told.elsewhere) == ("withheld", large.spec)
            assert (large.root / "v1" / fat.name).read_bytes() == fat.read_bytes()
            assert record.published


def test_a_refused_release_takes_no_more_artifacts(wheels: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fatwheel.release.run_artifacts.SMALL", 0)  # nothing is looked through beforehand
    with Site(clock=VirtualClock(), faults=[Fault("401", times=0)]) as site:
        upload_artifacts(site, wheels)
        record = run(site, plan=make_plan(), run=source(site), policy=RetryPolicy(workers=1))
        assert not any(asset.live for asset in record.assets)
        assert len([entry for entry in site.state.log if entry["route"] == "artifact"]) == 1
