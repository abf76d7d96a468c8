"""The command: exit statuses, JSON, the journal and resuming."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.commands.release import command
from pipeline.errors import ReleaseIncomplete, ReleaseRefused
from pipeline.records.release import ReleaseJournal
from tests.unit.release.wheels import FAMILIES, make_plan, make_wheel, sparse, wheel_name


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_SHA", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


def call(*arguments: str) -> tuple[str, BaseException | None]:
    result = CliRunner().invoke(command, arguments)
    return result.stdout, result.exception


def test_json_is_one_document_and_nothing_else(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "dist", "sm9x")
    out, error = call("--store", f"dir:{tmp_path}/store", "--tag", "v1", "--json", str(wheel))
    assert error is None
    assert json.loads(out)["published"] is True


def test_the_record_is_printed_before_the_release_is_called_incomplete(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "dist", "sm9x")
    fat = sparse(tmp_path / "dist" / wheel_name("sm12x"), 2147483648)
    out, error = call("--store", "dir:store", "--tag", "v1", str(wheel), str(fat))
    assert isinstance(error, ReleaseIncomplete)
    assert f"  {fat.name}\n    withheld: 2,147,483,648 bytes" in out
    assert max(len(line) for line in out.splitlines() if not line.startswith(" ")) <= 80


def test_a_plan_decides_what_is_missing(tmp_path: Path) -> None:
    make_plan().write(tmp_path / "plan.json")
    make_wheel(tmp_path / "dist", "sm9x")
    out, error = call("--store", "dir:store", "--tag", "v1", "--plan", "plan.json", "--json", "dist")
    assert isinstance(error, ReleaseIncomplete)
    assert [a["outcome"] for a in json.loads(out)["assets"]].count("missing") == 2


def test_a_run_resumes_from_its_record_alone(tmp_path: Path) -> None:
    for family in FAMILIES:
        make_wheel(tmp_path / "dist", family)
    _, error = call("--store", "dir:store", "--tag", "v1", "--draft", "dist")
    assert error is None
    journal = ReleaseJournal.read(tmp_path / ".fatwheel" / "release-v1.json")
    assert journal.finished
    assert journal.release_id == ".draft-v1"
    assert len(journal.hashed) == 3
    out, error = call("--resume", ".fatwheel/release-v1.json", "--json")
    assert error is None
    assert {a["outcome"] for a in json.loads(out)["assets"]} == {"identical"}


def test_without_a_store_or_a_record_nothing_starts(tmp_path: Path) -> None:
    _, error = call("--tag", "v1", str(make_wheel(tmp_path, "sm9x")))
    assert "needs --store and --tag" in str(error)


def test_a_bad_name_is_refused(tmp_path: Path) -> None:
    _, error = call("--store", "dir:store", "--tag", "v1", str(sparse(tmp_path / "a b", 1)))
    assert isinstance(error, ReleaseRefused)
    assert not (tmp_path / "store").exists()


def matrix(tmp_path: Path, **size: str) -> str:
    lines = "".join(f"  {key}: {value}\n" for key, value in size.items())
    (tmp_path / "matrix.yaml").write_text(
        'version: "1.0"\npackages:\n  - {name: demo, import: demo, per: [], source: {checkout: .}, tag: py3-none,\n'
        '     build: {kind: wheel, command: ["{python}"]}}\nsize:\n' + lines
    )
    return "matrix.yaml"


def test_a_matrix_gives_the_limit(tmp_path: Path) -> None:
    files = [sparse(tmp_path / "a.bin", 1000), sparse(tmp_path / "b.bin", 3000)]
    asked = ["--store", "dir:store", "--tag", "v1", "--matrix", matrix(tmp_path, limit='"2000 B"'), "--json"]
    out, error = call(*asked, *map(str, files))
    assert isinstance(error, ReleaseIncomplete)
    assert {a["name"]: a["outcome"] for a in json.loads(out)["assets"]}["b.bin"] == "withheld"


def test_a_matrix_may_refuse_all_if_one_is_too_large(tmp_path: Path) -> None:
    files = [sparse(tmp_path / "a.bin", 1000), sparse(tmp_path / "b.bin", 3000)]
    given = matrix(tmp_path, limit='"2000 B"', over="fail")
    _, error = call("--store", "dir:store", "--tag", "v1", "--matrix", given, *map(str, files))
    assert isinstance(error, ReleaseRefused)
    assert "b.bin: over the limit" in str(error)
    assert not (tmp_path / "store").exists()


def test_a_matrix_may_send_what_is_too_large_elsewhere(tmp_path: Path) -> None:
    files = [sparse(tmp_path / "a.bin", 1000), sparse(tmp_path / "b.bin", 3000)]
    given = matrix(tmp_path, limit='"2000 B"', over="elsewhere", elsewhere="dir:large")
    out, error = call("--store", "dir:store", "--tag", "v1", "--matrix", given, "--json", *map(str, files))
    assert error is None
    told = next(a for a in json.loads(out)["assets"] if a["name"] == "b.bin")
    assert (told["outcome"], told["elsewhere"]) == ("withheld", "dir:large")
    assert (tmp_path / "large" / "v1" / "b.bin").stat().st_size == 3000
    assert not (tmp_path / "store" / "v1" / "b.bin").exists()
