"""An earlier run's wheels are released only as those of its commit; of two tests of a wheel the weightier counts."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from fatwheel.__main__ import run as fatwheel
from fatwheel.records.base import Record
from fatwheel.records.smoke import Check, SmokeRecord
from tests.fake_github.server import Site
from tests.fake_github.workshop import open_site, outcomes, run
from tests.unit.release.wheels import digest, make_cell, make_plan, make_wheel, record_build

pytestmark = pytest.mark.integration
HERE, THERE = "a" * 40, "b" * 40


def pack(**texts: bytes) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return whole.getvalue()


def put(site: Site, folder: Path, *records: tuple[str, Record]) -> Path:
    """A wheel's artifact of run 77, and records in artifacts of their own."""
    wheel = make_wheel(folder, "sm9x")
    built = record_build(wheel, "sm9x")
    inside = {wheel.name: wheel.read_bytes(), f"{wheel.name}.build.json": built.to_json().encode()}
    for name, record in records:
        text = record.to_json().encode()
        if name == make_cell("sm9x").artifact:
            inside[f"{wheel.name}.smoke.json"] = text
        else:
            site.state.add_artifact(77, name, pack(**{f"{wheel.name}.smoke.json": text}))
    site.state.add_artifact(77, make_cell("sm9x").artifact, pack(**inside))
    return wheel


@pytest.mark.parametrize(("commit", "status"), [(HERE, 0), (THERE, 7)])
def test_an_earlier_run_must_be_of_the_commit(tmp_path, monkeypatch, capsys, commit, status):
    with Site() as site:
        put(site, tmp_path / "dist")
        site.state.runs[77] = HERE
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("GITHUB_API_URL", site.api_url)
        monkeypatch.setenv("GITHUB_TOKEN", site.token)
        monkeypatch.setenv("GITHUB_RUN_ID", "78")
        command = ["release", "--store", "github:octo/wheels", "--tag", "v1", "--from", "run:octo/wheels/77"]
        assert fatwheel([*command, "--commit", commit]) == status
        assert bool(site.state.releases) == (status == 0)
        if status:
            assert f"this run built commit {HERE[:12]}, but the release is of {THERE[:12]}" in capsys.readouterr().err


def smoke(wheel: Path, *, imported: str = "passed", gpu: str | None = None) -> SmokeRecord:
    check = Check.model_validate({"outcome": gpu, "detail": "error 209"}) if gpu else None
    return SmokeRecord(
        wheel=wheel.name, sha256=digest(wheel), import_=Check.model_validate({"outcome": imported}), gpu=check
    )


@pytest.mark.parametrize("apart", ["demo-a-smoke", "zzz-smoke"])
@pytest.mark.parametrize(("gpu", "outcome"), [("failed", "withheld"), ("passed", "uploaded")])
def test_the_gpu_test_counts_beside_the_import_in_the_wheels_artifact(tmp_path, apart, gpu, outcome):
    wheel = make_wheel(tmp_path / "dist", "sm9x")
    with Site() as site:
        records = [(make_cell("sm9x").artifact, smoke(wheel)), (apart, smoke(wheel, gpu=gpu))]
        put(site, tmp_path / "dist", *records)
        from fatwheel.stores.artifacts import WorkflowRun

        record = run(site, plan=make_plan(), run=WorkflowRun("octo/wheels", "77", open_site(site).requests))
        assert outcomes(record)[wheel.name] == outcome
