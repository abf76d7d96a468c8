"""`fatwheel doctor`: what it says of a machine, and what it never says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fatwheel.__main__ import run
from tests.unit.building.samples import environment, fake_nvcc, program

MATRIX = """
version: "1.0"
packages:
  - name: demo
    import: demo
    per: [cuda, arch]
    layout: fat
    manylinux: "2_28"
    build: {kind: tree, command: [make]}
cuda:
  cu130: {toolkit: "13.0", targets: {x86_64: "9.0a", aarch64: "9.0a"}}
  cu129: {toolkit: "12.9", targets: {x86_64: "9.0a"}}
secrets: {owner/wheels: WHEEL_KEY}
"""


@pytest.fixture
def doctor(tmp_path, monkeypatch, capfd):
    """Run it on a machine with a toolkit of CUDA 13.0, with these variables; its status and what it printed."""
    (tmp_path / "matrix.yaml").write_text(MATRIX)
    monkeypatch.chdir(tmp_path)
    home = fake_nvcc(tmp_path / "cuda", "13.0")
    for name, value in environment(tmp_path / "cache", CUDA_HOME=home).items():
        monkeypatch.setenv(name, value)
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "FATWHEEL_SCCACHE"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments, **variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))
        status = run(["doctor", *arguments])
        return status, capfd.readouterr().out

    return call


def findings(doctor, **variables):
    status, out = doctor("--json", **variables)
    assert status == 0
    return {one["name"]: one for one in json.loads(out)["findings"]}


def test_what_is_there_is_named_with_its_version(doctor):
    found = findings(doctor)
    assert found["nvcc"]["detail"].startswith("CUDA 13.0.99 in ")
    assert found["CUDA 13.0"]["state"] == "ok"
    assert found["host compiler"]["state"] == "ok"
    assert found["parallelism"]["detail"].endswith("at 2.000 GiB per compiler")


def test_what_is_missing_comes_with_what_to_do(doctor, tmp_path):
    program(tmp_path / "bin" / "docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    found = findings(doctor, PATH=f"{tmp_path}/bin:/usr/bin:/bin")
    assert found["docker"]["state"] == "missing"
    assert found["docker"]["detail"] == "docker does not respond: Cannot connect to the Docker daemon"
    assert found["CUDA 12.9"]["help"] == "set CUDA_HOME to CUDA 12.9, or build in a container with it"


def test_an_sccache_that_does_not_run_is_said_so(doctor, tmp_path):
    found = findings(doctor, FATWHEEL_SCCACHE=program(tmp_path / "sccache", "exit 1"))
    assert (found["sccache"]["state"], found["sccache"]["detail"]) == ("missing", "exited with code 1")


def test_cells_are_told_with_their_reasons(doctor):
    _, out = doctor("--json")
    cells = {one["id"]: one["reason"] for one in json.loads(out)["cells"]}
    assert cells["cu130-x86_64-all"] is None
    assert cells["cu130-aarch64-all"].startswith("the cell is for aarch64")
    assert "PyPI has no nvcc for CUDA 12" in cells["cu129-x86_64-all"]


def test_secrets_are_told_by_name_and_never_by_value(doctor, tmp_path):
    leaky = program(tmp_path / "sccache", 'echo "sccache 1 $FATWHEEL_TOKEN_OWNER_WHEELS"')
    status, out = doctor(FATWHEEL_TOKEN_OWNER_WHEELS="hidden-value", GITHUB_TOKEN="ghp_hidden", FATWHEEL_SCCACHE=leaky)
    assert status == 0
    assert "for owner/wheels: set" in out
    assert "GITHUB_TOKEN is set" in out
    assert "hidden" not in out
    assert "<FATWHEEL_TOKEN_OWNER_WHEELS>" in out


def test_it_needs_no_declaration(tmp_path):
    root = str(Path(__file__).resolve().parents[3] / "pipeline")
    env = environment(tmp_path / "cache") | {"PYTHONPATH": root}
    command = [sys.executable, "-m", "fatwheel", "doctor"]
    answer = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert "cells" not in answer.stdout
    assert answer.returncode == 0


def test_it_changes_nothing(doctor, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    doctor()
    assert sorted(tmp_path.rglob("*")) == before
