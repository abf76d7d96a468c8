"""A plan as job matrices for GitHub Actions."""

from __future__ import annotations

import json
import subprocess

import pytest

from fatwheel.__main__ import run
from fatwheel.declaration import load
from fatwheel.errors import UsageError
from fatwheel.plan import make_plan
from fatwheel.plan.sessions import session_names
from fatwheel.records.plan import Plan
from fatwheel.workflows.matrix import build_rows, format_annotations, format_outputs, smoke_rows, with_runner
from tests.unit.workflows.repositories import ROOT, SETS, copied


def matrix_of(name):
    place = SETS[name]
    return load(place if place.is_file() else place / "matrix.yaml")


@pytest.mark.parametrize("name", SETS)
def test_every_cell_has_a_complete_row(name):
    declaration = matrix_of(name)
    plan = with_runner(make_plan(declaration), declaration.document.workflows.runner)
    rows = build_rows(plan.cells, session_names(declaration))
    assert [row["id"] for row in rows] == [cell.id for cell in plan.cells]
    for row in rows:
        assert row["runner"]
        assert row["engine"] in {"host", "docker"}
        assert row["session"].startswith("build(")
    assert len({row["artifact"] for row in rows}) == len(rows)


def test_a_row_has_its_engine_and_whether_it_can_be_imported():
    declaration = matrix_of("flashinfer-providers")
    plan = with_runner(make_plan(declaration), "ubuntu-24.04")
    rows = {row["id"]: row for row in build_rows(plan.cells, session_names(declaration))}
    assert rows["cu130-x86_64-sm90a"]["import"] is True
    assert rows["cu130-shim"]["import"] is True  # alone, without its providers
    cmake = build_rows(with_runner(make_plan(matrix_of("cmake")), "x").cells, session_names(matrix_of("cmake")))
    assert [row["import"] for row in cmake if row["wheel"].endswith(".tar.gz")] == [False]
    assert rows["cu130-shim"]["runner"] == "ubuntu-24.04"
    first = build_rows(make_plan(matrix_of("flashinfer-split")).cells[:1], session_names(matrix_of("flashinfer-split")))
    assert first[0]["engine"] == "docker"


def test_only_cells_with_a_gpu_runner_get_a_gpu_test():
    plan = make_plan(matrix_of("flashinfer-split"))
    assert {row["runner"] for row in smoke_rows(plan.cells)} == {"gpu-h100"}
    assert len(smoke_rows(plan.cells)) == 2
    lines = list(format_annotations(plan))
    assert any(line.startswith("::notice title=untested::sm12x on x86_64") for line in lines)
    assert all("\n" not in line for line in lines)


def test_matrices_beyond_githubs_limits_are_errors():
    row = {"id": "x" * 100}
    with pytest.raises(UsageError, match="257 build jobs, but GitHub allows at most 256"):
        format_outputs([row] * 257, [])
    with pytest.raises(UsageError, match=r"take .* bytes, but GitHub allows at most 1,048,576"):
        format_outputs([{"id": "x" * 4096}] * 200, [])
    assert "build=[" in format_outputs([row] * 256, [row])


def test_a_cell_without_a_runner_is_an_error():
    cell = make_plan(matrix_of("minikernels")).cells[0].model_copy(update={"runner": None})
    with pytest.raises(UsageError, match=f"no runner for {cell.id}"):
        build_rows([cell], {cell.id: "build(x)"})


@pytest.fixture
def repository(tmp_path, monkeypatch):
    matrix = copied("minikernels", tmp_path / "r")
    (tmp_path / "r/.git").rmdir()
    git = ["git", "-C", str(tmp_path / "r"), "-c", "user.name=t", "-c", "user.email=t@x"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *arguments], check=True)
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    return matrix, tmp_path, git


def outputs_in(place):
    return dict(line.split("=", 1) for line in (place / "output").read_text().splitlines())


def test_a_selection_limits_the_builds_and_not_the_release(repository, capsys):
    matrix, place, git = repository
    command = ["plan", "--matrix", str(matrix), "--only", "cu130-x86_64-*", "--actions", str(place / "plan.json")]
    assert run([*command, "--date", "20261201"]) == 0
    assert len(Plan.read(place / "plan.json").cells) == 9
    found = outputs_in(place)
    assert len(json.loads(found["build"])) == 3
    assert json.loads(found["smoke"]) == []
    assert found["tag"] == "minikernels-v0.1.0"
    assert found["date"] == "20261201"
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    assert found["commit"] == head
    assert "9 wheels, 3 built in this run" in (place / "summary").read_text()
    assert "::notice title=untested::" in capsys.readouterr().err


def test_empty_inputs_are_ignored(repository):
    matrix, place, _ = repository
    empty = ["--only", "", "--tag", "", "--date", ""]
    assert run(["plan", "--matrix", str(matrix), *empty, "--actions", str(place / "plan.json")]) == 0
    assert len(json.loads(outputs_in(place)["build"])) == 9


def test_a_tag_of_another_version_is_an_error(repository, capsys):
    matrix, place, _ = repository
    command = ["plan", "--matrix", str(matrix), "--tag", "minikernels-v9", "--actions", str(place / "plan.json")]
    assert run(command) == 2
    assert "does not match version 0.1.0" in capsys.readouterr().err
    assert not (place / "plan.json").exists()
    assert not (place / "output").exists()


def test_this_project_plans_its_own_release(monkeypatch, tmp_path):
    monkeypatch.delenv("GITHUB_OUTPUT", raising=False)
    place = tmp_path / "plan.json"
    assert run(["plan", "--matrix", str(ROOT / "matrix.yaml"), "--actions", str(place)]) == 0
    assert len(Plan.read(place).cells) == 12
