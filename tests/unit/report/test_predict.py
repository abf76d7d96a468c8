"""What a change of matrix.yaml costs before anything is built."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fatwheel.__main__ import run
from fatwheel.plan.diff import difference
from fatwheel.records.plan import Cell, Plan
from fatwheel.report.predict import price_diff
from fatwheel.report.prices import price_list
from fatwheel.report.sizes import Snapshot, labels
from tests.unit.report.samples import GIB, MIB, august, build_record, cell, module, wheel

ROOT = Path(__file__).resolve().parents[3]


def plan(*cells: Cell) -> Plan:
    return Plan(packages=[], channel="release", cells=list(cells), excluded=[])


def priced(old: list[Cell], new: list[Cell], held: Snapshot, limit: int = 2 * GIB):
    prices = price_list([held], labels(held.wheels))
    found = price_diff(difference(plan(*old), plan(*new), "main"), held, prices, limit)
    return {price.id: price for price in found}


def snapshot(*targets: str) -> Snapshot:
    held = [
        wheel(cell("cu130", arch, " ".join(targets)), [module("m", dict.fromkeys(targets, 100 * MIB), host=MIB)])
        for arch in ("x86_64", "aarch64")
    ]
    return Snapshot("v1", None, tuple(held))


def test_a_target_that_goes_takes_its_bytes_with_it() -> None:
    before, after = cell("cu130", "x86_64", "8.0 9.0a"), cell("cu130", "x86_64", "8.0")
    price = priced([before], [after], snapshot("8.0", "9.0a"))[before.id]
    assert (price.before, price.after) == (201 * MIB, 101 * MIB)
    assert price.basis == "v1; 9.0a as measured"


def test_a_target_that_comes_is_priced_by_another_wheel_that_has_it() -> None:
    held = snapshot("8.0", "9.0a")
    with_ten = wheel(cell("cu129", "x86_64", "10.0a"), [module("m", {"10.0a": 70 * MIB})])
    held = Snapshot("v1", None, (*held.wheels, with_ten))
    before, after = cell("cu130", "x86_64", "8.0 9.0a"), cell("cu130", "x86_64", "8.0 9.0a 10.0a")
    price = priced([before], [after], held)[before.id]
    assert price.after == 271 * MIB
    assert "10.0a as measured in cu129-x86_64-all" in price.basis


def test_a_target_that_nobody_built_is_taken_as_its_nearest_and_said_to_be_unsure() -> None:
    held = snapshot("8.0", "12.0f")
    before, after = cell("cu130", "aarch64", "8.0 12.0f"), cell("cu130", "aarch64", "8.0 12.0f 12.1a")
    price = priced([before], [after], held)[before.id]
    assert (price.low, price.after, price.high) == (201 * MIB, 301 * MIB, 401 * MIB)
    assert "12.1a was never built: taken as 12.0f" in price.basis


def test_a_target_like_nothing_that_was_built_has_no_price() -> None:
    before, after = cell("cu130", "x86_64", "8.0 9.0a"), cell("cu130", "x86_64", "8.0 9.0a 12.0f")
    price = priced([before], [after], snapshot("8.0", "9.0a"))[before.id]
    assert (price.after, price.basis) == (None, "nothing like 12.0f was ever built")


def test_a_change_that_goes_over_the_limit_says_so() -> None:
    before, after = cell("cu130", "x86_64", "8.0"), cell("cu130", "x86_64", "8.0 9.0a")
    held = Snapshot("v1", None, (wheel(before, [module("m", {"8.0": MIB})]), snapshot("9.0a").wheels[1]))
    assert priced([before], [after], held, limit=100 * MIB)[before.id].over


def test_a_new_wheel_is_its_targets_and_the_host_code_of_its_nearest_relative() -> None:
    new = cell("cu134", "aarch64", "8.0 9.0a")
    price = priced([], [new], snapshot("8.0", "9.0a"))[new.id]
    assert (price.before, price.after) == (None, 201 * MIB)
    assert price.basis.startswith("host code as in cu130-aarch64-all")


def test_a_wheel_that_is_not_built_any_more_shows_what_it_was() -> None:
    old = cell("cu130", "x86_64", "8.0 9.0a")
    price = priced([old], [], snapshot("8.0", "9.0a"))[old.id]
    assert (price.before, price.after) == (201 * MIB, None)


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


def test_plan_diff_prices_the_public_case_from_sizes_alone(
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


def test_records_price_a_change_without_any_store(
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


def test_a_project_without_releases_sees_the_difference_without_prices(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    (project / "matrix.yaml").write_text(DECLARED.replace(" 12.1a", ""), encoding="utf-8")
    assert run(["plan", "--diff", "HEAD", "--store", f"dir:{tmp_path / 'empty'}"]) == 0
    assert "no release holds it yet" in " ".join(capsys.readouterr().out.split())
    assert "no release holds it yet" in summary.read_text(encoding="utf-8")


def test_prices_go_with_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--store", "dir:.", "--matrix", str(ROOT / "matrix.yaml")]) == 2
    assert "add --diff REV" in capsys.readouterr().err
