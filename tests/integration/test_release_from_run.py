"""Releases from a workflow run's artifacts: taken one at a time, read in place, dropped."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from pathlib import Path

import pytest

from pipeline.records.manifest import Manifest
from pipeline.release.archive import members
from pipeline.release.request import ReleaseRequest
from pipeline.release.sources import read_metadata
from pipeline.release.station import release
from pipeline.stores.artifacts import WorkflowRun, open_run
from pipeline.stores.directory import DirectoryStore
from pipeline.stores.patience import Policy
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

        record = run(site, run=source(site), progress=Watch(), policy=Policy(workers=2))  # type: ignore[arg-type]
        assert record.published
        assert 1 <= most <= 2
        assert list(spool.iterdir()) == []


def test_a_wheel_is_read_in_place(wheels: list[Path], tmp_path: Path) -> None:
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        place = tmp_path / f"{method}.zip"
        place.write_bytes(pack(*wheels, method=method))
        for member, wheel in zip(members(place), wheels, strict=True):
            assert b"".join(member.chunks()) == wheel.read_bytes()
            with member.open() as file:
                assert read_metadata(file) == read_metadata(wheel)


def test_where_a_run_is_looked_for() -> None:
    environment = {"GITHUB_TOKEN": "t", "GITHUB_REPOSITORY": "here/repo"}
    assert open_run("run:5", environment, None).spec == "run:here/repo/5"
    assert open_run("run:5", {}, "store/repo").spec == "run:store/repo/5"
    assert open_run("run:a/b/5", environment, None).spec == "run:a/b/5"
