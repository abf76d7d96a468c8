"""Size estimates for a change of matrix.yaml, before anything is built."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fatwheel.__main__ import run
from fatwheel.plan.diff import diff_plans
from fatwheel.records.plan import Cell, Plan
from fatwheel.report.forecast import estimate_changes
from fatwheel.report.snapshots import Snapshot, choose_labels
from fatwheel.report.target_sizes import list_target_sizes
from fatwheel.report.values import format_estimate
from tests.unit.report.samples import GIB, MIB, august, build_record, cell, module, wheel

ROOT = Path(__file__).resolve().parents[3]


def plan(*cells: Cell) -> Plan:
    return Plan(packages=[], channel="release", cells=list(cells), excluded=[])


def estimate(old: list[Cell], new: list[Cell], held: Snapshot, limit: int = 2 * GIB):
    sizes = list_target_sizes([held], choose_labels(held.wheels))
    found = estimate_changes(diff_plans(plan(*old), plan(*new), "main"), held, sizes, limit)
    return {one.id: one for one in found}


def snapshot(*targets: str) -> Snapshot:
    held = [
        wheel(cell("cu130", arch, " ".join(targets)), [module("m", dict.fromkeys(targets, 100 * MIB), host=MIB)])
        for arch in ("x86_64", "aarch64")
    ]
    return Snapshot("v1", None, tuple(held))


def test_removing_a_target_removes_its_bytes() -> None:
    before, after = cell("cu130", "x86_64", "8.0 9.0a"), cell("cu130", "x86_64", "8.0")
    found = estimate([before], [after], snapshot("8.0", "9.0a"))[before.id]
    assert (found.before, found.after) == (201 * MIB, 101 * MIB)
    assert found.basis == "v1; 9.0a as measured"


def test_an_added_target_is_estimated_from_another_wheel_with_it() -> None:
    held = snapshot("8.0", "9.0a")
    with_ten = wheel(cell("cu129", "x86_64", "10.0a"), [module("m", {"10.0a": 70 * MIB})])
    held = Snapshot("v1", None, (*held.wheels, with_ten))
    before, after = cell("cu130", "x86_64", "8.0 9.0a"), cell("cu130", "x86_64", "8.0 9.0a 10.0a")
    found = estimate([before], [after], held)[before.id]
    assert found.after == 271 * MIB
    assert "10.0a as measured in cu129-x86_64-all" in found.basis


def test_a_target_never_built_is_estimated_from_the_closest_with_wide_bounds() -> None:
    held = snapshot("8.0", "12.0f")
    before, after = cell("cu130", "aarch64", "8.0 12.0f"), cell("cu130", "aarch64", "8.0 12.0f 12.1a")
    found = estimate([before], [after], held)[before.id]
    assert (found.low, found.after, found.high) == (201 * MIB, 301 * MIB, 401 * MIB)
    assert "12.1a never built, assumed similar to 12.0f" in found.basis


def test_a_target_of_an_unknown_major_has_no_estimate() -> None:
    before, after = cell("cu130", "x86_64", "8.0 9.0a"), cell("cu130", "x86_64", "8.0 9.0a 12.0f")
    found = estimate([before], [after], snapshot("8.0", "9.0a"))[before.id]
    assert (found.after, found.basis) == (None, "no similar target was built before: 12.0f")


def test_an_estimate_over_the_limit_is_marked() -> None:
    before, after = cell("cu130", "x86_64", "8.0"), cell("cu130", "x86_64", "8.0 9.0a")
    held = Snapshot("v1", None, (wheel(before, [module("m", {"8.0": MIB})]), snapshot("9.0a").wheels[1]))
    assert estimate([before], [after], held, limit=100 * MIB)[before.id].over


def test_an_added_wheel_is_estimated_from_its_targets_and_similar_host_code() -> None:
    new = cell("cu134", "aarch64", "8.0 9.0a")
    found = estimate([], [new], snapshot("8.0", "9.0a"))[new.id]
    assert (found.before, found.after) == (None, 201 * MIB)
    assert found.basis.startswith("host code as in cu130-aarch64-all")


def test_a_removed_wheel_shows_its_previous_size() -> None:
    old = cell("cu130", "x86_64", "8.0 9.0a")
    found = estimate([old], [], snapshot("8.0", "9.0a"))[old.id]
    assert (found.change, found.before, found.after) == ("removed", 201 * MIB, None)
    assert format_estimate(found) == "removed"


DECLARED = """\
version: "0.6.16.dev20260814"
packages:
  - name: flashinfer-jit-cache
    import: flashinfer_jit_cache
    per: [cuda, arch]
    layout: fat
    tag: cp39-abi3
    manylinux: "2_28"
    build: {kind: wheel, command: [make]}
cuda:
  cu129:
    toolkit: "12.9"
    targets: {x86_64: 8.0 8.9 9.0a 10.0a 12.0f, aarch64: 8.0 8.9 9.0a 10.0a 12.0f 12.1a}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "matrix.yaml").write_text(DECLARED, encoding="utf-8")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *words], cwd=folder, check=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    return folder


def test_plan_diff_estimates_the_public_case_from_sizes_alone(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    august(tmp_path / "store")
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    (project / "matrix.yaml").write_text(DECLARED.replace(" 12.1a", ""), encoding="utf-8")
    assert run(["plan", "--diff", "HEAD", "--store", f"dir:{tmp_path / 'store'}"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "2.143 GiB 1.893 GiB" in shown
    assert "| cu129-aarch64-all | 2.143 GiB | 1.893 GiB" in summary.read_text(encoding="utf-8")


def test_records_are_enough_to_estimate_a_change(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = cell("cu129", "aarch64", "8.0 8.9 9.0a 10.0a 12.0f 12.1a", "0.6.16.dev20260814")
    held = wheel(made, [module("m", dict.fromkeys(made.targets, MIB))])
    records = tmp_path / "records"
    build_record(made, held.bytes).write(records / f"{made.wheel}.build.json")
    assert held.inventory
    (records / f"{made.wheel}.inventory.json").write_text(held.inventory.to_json(), encoding="utf-8")
    (project / "matrix.yaml").write_text(DECLARED.replace(" 12.1a", ""), encoding="utf-8")
    assert run(["plan", "--diff", "HEAD", "--records", str(records)]) == 0
    assert "12.1a as measured" in " ".join(capsys.readouterr().out.split())


def test_a_project_without_releases_sees_the_diff_without_estimates(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    (project / "matrix.yaml").write_text(DECLARED.replace(" 12.1a", ""), encoding="utf-8")
    assert run(["plan", "--diff", "HEAD", "--store", f"dir:{tmp_path / 'empty'}"]) == 0
    assert "not in any release yet" in " ".join(capsys.readouterr().out.split())
    assert "not in any release yet" in summary.read_text(encoding="utf-8")


def test_estimates_require_a_diff(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--store", "dir:.", "--matrix", str(ROOT / "matrix.yaml")]) == 2
    assert "add --diff REV" in capsys.readouterr().err
