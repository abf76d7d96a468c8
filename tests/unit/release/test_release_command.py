"""The command: exit statuses, JSON, the journal and resuming."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fatwheel.commands.release import command
from fatwheel.commands.status import command as status
from fatwheel.errors import ReleaseIncomplete, ReleaseRefused, UsageError
from fatwheel.pipelines.stores import choose_store_spec
from fatwheel.records.release import ReleaseJournal
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
    assert f"  {fat.name} (2.000 GiB)\n    withheld: 2,147,483,648 bytes; must be under 2,147,483,648\n" in out
    assert out.count(fat.name) == 1
    assert max(len(line) for line in out.splitlines() if not line.startswith(" ")) <= 80


def test_a_plan_decides_what_is_missing(tmp_path: Path) -> None:
    make_plan().write(tmp_path / "plan.json")
    make_wheel(tmp_path / "dist", "sm9x")
    out, error = call("--store", "dir:store", "--tag", "v1", "--plan", "plan.json", "--json", "dist")
    assert isinstance(error, ReleaseIncomplete)
    assert [a["outcome"] for a in json.loads(out)["assets"]].count("missing") == 2


def test_a_conflict_is_not_mended_by_running_it_again(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "dist", FAMILIES[0])
    assert call("--store", "dir:store", "--tag", "v1", "dist")[1] is None
    wheel.write_bytes(wheel.read_bytes() + b"more")
    _, error = call("--store", "dir:store", "--tag", "v1", "dist")
    assert isinstance(error, ReleaseIncomplete)
    assert "as a new version, or overwrite them with --replace" in str(error.help)


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
    assert "b.bin: not under the limit" in str(error)
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


def test_all_that_is_too_large_may_go_elsewhere(tmp_path: Path) -> None:
    """There is nothing for the first store, and nothing is wrong."""
    files = [sparse(tmp_path / "a.bin", 3000), sparse(tmp_path / "b.bin", 4000)]
    given = matrix(tmp_path, limit='"2000 B"', over="elsewhere", elsewhere="dir:large")
    out, error = call("--store", "dir:store", "--tag", "v1", "--matrix", given, "--json", *map(str, files))
    assert error is None
    told = json.loads(out)
    assert {a["elsewhere"] for a in told["assets"]} == {"dir:large"}
    assert not told["published"]
    assert told["notes"] == ["all files are too large for dir:store; no release was created there"]
    assert not (tmp_path / "store").exists()
    assert (tmp_path / "large" / "v1" / "a.bin").stat().st_size == 3000


def test_a_whole_release_counts_what_is_elsewhere(tmp_path: Path) -> None:
    make_plan("complete", size_limit=2000).write(tmp_path / "plan.json")
    for family in FAMILIES[:2]:
        make_wheel(tmp_path / "dist", family)
    make_wheel(tmp_path / "dist", FAMILIES[2], payload="#" * 3000)
    given = matrix(tmp_path, limit='"2000 B"', over="elsewhere", elsewhere="dir:large")
    asked = ["--store", "dir:store", "--tag", "v1", "--matrix", given, "--plan", "plan.json", "--json", "dist"]
    out, error = call(*asked, "--dry-run")
    assert error is None
    assert not (tmp_path / "large").exists()
    out, error = call(*asked)
    assert error is None
    assert json.loads(out)["published"] is True
    assert (tmp_path / "large" / "v1" / wheel_name(FAMILIES[2])).is_file()
    found = CliRunner().invoke(status, ["--tag", "v1", "--store", "dir:store", "--json"])
    assert found.exception is None, "what is elsewhere is where it should be"
    assert {a["name"]: a["elsewhere"] for a in json.loads(found.stdout)["assets"]}[
        wheel_name(FAMILIES[2])
    ] == "dir:large"


def test_another_store_that_refuses_stops_nothing_here(tmp_path: Path) -> None:
    (tmp_path / "large").write_text("a file in the place of a folder")
    files = [sparse(tmp_path / "a.bin", 1000), sparse(tmp_path / "b.bin", 3000)]
    given = matrix(tmp_path, limit='"2000 B"', over="elsewhere", elsewhere="dir:large")
    out, error = call("--store", "dir:store", "--tag", "v1", "--matrix", given, "--json", *map(str, files))
    assert isinstance(error, ReleaseIncomplete)
    told = {a["name"]: a for a in json.loads(out)["assets"]}
    assert told["a.bin"]["outcome"] == "uploaded"
    assert told["b.bin"]["elsewhere"] is None
    assert "dir:large: " in told["b.bin"]["reason"]


def test_a_disk_that_is_full_for_the_record_ends_no_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    wheel = make_wheel(tmp_path / "dist", "sm9x")
    monkeypatch.setattr(ReleaseJournal, "write", full)
    out, error = call("--store", "dir:store", "--tag", "v1", "--json", str(wheel))
    assert error is None
    assert json.loads(out)["published"] is True
    assert json.loads(out)["notes"] == ["cannot write the journal .fatwheel/release-v1.json: No space left on device"]
    _, error = call("--store", "dir:store", "--tag", "v2", "--record", "mine.json", str(wheel))
    assert isinstance(error, UsageError), "a record that was asked for by name must be possible"
    assert not (tmp_path / "store" / "v2").exists()


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"null", b'{"store": 1}', b"\xff\xfe", b'{"store": "dir:x"}'], ids=repr
)
def test_a_damaged_record_is_told(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "run.json").write_bytes(damage)
    _, error = call("--resume", "run.json")
    assert isinstance(error, UsageError)
    assert "run.json" in str(error)
    _, error = call("--resume", "nothing.json")
    assert isinstance(error, UsageError)


def test_a_record_of_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "dist", "sm9x")
    call("--store", "dir:store", "--tag", "v1", "--draft", "--record", "run.json", str(wheel))
    wheel.unlink()
    _, error = call("--resume", "run.json")
    assert isinstance(error, UsageError)
    assert "not found" in str(error)


@pytest.mark.parametrize("commit", ["main", "HEAD", "abc123", "g" * 40, "A" * 40])
def test_a_commit_is_a_full_one(tmp_path: Path, commit: str) -> None:
    _, error = call("--store", "dir:store", "--tag", "v1", "--commit", commit, str(make_wheel(tmp_path, "sm9x")))
    assert isinstance(error, UsageError)
    assert "is not a full commit SHA" in str(error)


def test_a_step_summary_that_cannot_be_written_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "such" / "folder"))
    _, error = call("--store", "dir:store", "--tag", "v1", str(make_wheel(tmp_path, "sm9x")))
    assert error is None


def test_the_limits_of_matrix_yaml_apply_unless_it_is_ignored(tmp_path: Path) -> None:
    matrix(tmp_path, limit='"2000 B"')
    large, small = str(sparse(tmp_path / "large.bin", 3000)), str(sparse(tmp_path / "small.bin", 1000))
    out, error = call("--store", "dir:store", "--tag", "v1", "--json", large, small)
    assert isinstance(error, ReleaseIncomplete)
    assert [a["outcome"] for a in json.loads(out)["assets"] if a["name"] == "large.bin"] == ["withheld"]
    out, error = call("--store", "dir:store", "--tag", "v2", "--json", "--no-matrix", large)
    assert error is None
    assert ReleaseJournal.read(tmp_path / ".fatwheel/release-v1.json").matrix == str(tmp_path / "matrix.yaml")


def test_a_resumed_release_has_the_limits_it_began_with(tmp_path: Path) -> None:
    large = str(sparse(tmp_path / "large.bin", 3000))
    assert call("--store", "dir:store", "--tag", "v1", large)[1] is None
    matrix(tmp_path, limit='"2000 B"')
    _, error = call("--resume", ".fatwheel/release-v1.json")
    assert error is None


def test_the_store_is_by_default_the_repository_of_the_channel(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no store given"):
        choose_store_spec(None, None)
    declared = matrix(tmp_path, limit='"2000 B"')
    with open(declared, "a", encoding="utf-8") as file:
        file.write("channels: {nightly: {tag: 'n-{date}', repository: octo/nightly}}\n")
    assert choose_store_spec(None, Path(declared), "nightly") == "github:octo/nightly"
    assert choose_store_spec("dir:x", Path(declared), "nightly") == "dir:x"
    with pytest.raises(UsageError, match="no store given"):
        choose_store_spec(None, Path(declared))


@pytest.mark.parametrize("folder", ["/proc/nothing", "/dev/null/store"])
def test_a_store_that_cannot_be_created_is_a_usage_error(tmp_path: Path, folder: str) -> None:
    wheel = make_wheel(tmp_path / "dist", "sm9x")
    _, error = call("--store", f"dir:{folder}", "--tag", "v1", str(wheel))
    assert isinstance(error, UsageError)
    assert error.exit_code == 2
    assert str(error).startswith(f"{folder}: cannot create the store: ")
