"""`plan --diff`: which cells and targets came and went since a revision."""

import json

import pytest

from fatwheel.__main__ import run
from tests.golden import same_as_golden
from tests.unit.plan.matrices import EXAMPLES, ONE
from tests.unit.plan.test_versions import git


def commit(folder, text):
    (folder / "matrix.yaml").write_text(text)
    if not (folder / ".git").is_dir():
        git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "x")


def matrix(version="1.0", layout="fat"):
    return ONE.format(version=version, layout=layout, x86_64='"8.0"', aarch64='"8.0"')


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FATWHEEL_MATRIX", raising=False)
    return tmp_path


def test_the_change_that_added_12_1a(repository, capsys):
    now = EXAMPLES["flashinfer-split"].read_text()
    commit(
        repository,
        now.replace("12.0f 12.1a\n", "12.0f\n").replace(now[now.index("exclude:") : now.index("runners:")], ""),
    )
    commit(repository, now)
    assert run(["plan", "--channel", "nightly", "--date", "20261201", "--diff", "HEAD~1"]) == 0
    same_as_golden("plan_diff_12_1a.txt", capsys.readouterr().out)


def test_cells_that_came_went_and_changed(repository, capsys):
    old = ONE.format(version="1.0", layout="family", x86_64="8.0 9.0a 12.0f", aarch64="8.0 9.0a")
    new = ONE.format(version="1.1", layout="family", x86_64="8.0 8.9 9.0a", aarch64="8.0 9.0a 12.0f")
    commit(repository, old)
    (repository / "matrix.yaml").write_text(new.replace("2_28", "2_34"))
    assert run(["plan", "--diff", "HEAD", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["version"] == ["1.0", "1.1"]
    assert [cell["id"] for cell in found["added"]] == ["cu130-aarch64-sm12x"]
    assert [cell["id"] for cell in found["removed"]] == ["cu130-x86_64-sm12x"]
    x86, arm = found["changed"]
    assert (x86["id"], x86["targets_added"], x86["targets_removed"]) == ("cu130-x86_64-sm9x", ["8.9"], [])
    assert arm["fields"] == {"tag": ["cp39-abi3-manylinux_2_28_aarch64", "cp39-abi3-manylinux_2_34_aarch64"]}
    assert found["same"] == 0


def test_a_new_version_alone_changes_nothing(repository, capsys):
    commit(repository, matrix("1.0", "provider"))
    (repository / "matrix.yaml").write_text(matrix("1.1", "provider"))
    assert run(["plan", "--diff", "HEAD"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "release 1.0 -> 1.1, since HEAD",
        "0 added, 0 removed, 0 changed, 3 unchanged",
    ]


def test_a_channel_that_was_not_there_has_only_cells_that_came(repository, capsys):
    text = matrix()
    commit(repository, text)
    (repository / "matrix.yaml").write_text(text + "channels: {nightly: {tag: 'n{date}'}}\n")
    assert run(["plan", "--channel", "nightly", "--date", "20261201", "--diff", "HEAD"]) == 0
    assert "no such channel -> 1.1.dev20261201" in capsys.readouterr().out


def test_the_version_file_and_folders_of_the_old_revision_count(repository, capsys):
    text = matrix()
    (repository / "VERSION").write_text("0.9")
    (repository / "src").mkdir()
    (repository / "src" / "x").write_text("")
    old = text.replace('version: "1.0"', "version_file: VERSION").replace(
        "    layout", "    source: {checkout: src}\n    layout"
    )
    commit(repository, old)
    git(repository, "rm", "-rq", "VERSION", "src")
    (repository / "matrix.yaml").write_text(text)
    assert run(["plan", "--diff", "HEAD"]) == 0
    assert "release 0.9 -> 1.0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--diff", "HEAD~9"], "unknown Git revision 'HEAD~9'"),
        (["--diff", "-x"], "unknown Git revision '-x'"),
        (["--diff", "HEAD", "--only", "*"], "--diff compares whole plans"),
        (["--commit", "HEAD"], "--commit requires --tag"),
        (["--tag", "v2"], "tag v2 does not match version 1.0"),
    ],
)
def test_what_cannot_be_compared_is_a_usage_error(arguments, said, repository, capsys):
    commit(repository, matrix())
    assert run(["plan", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_revision_that_todays_rules_refuse_is_told_with_its_mistakes(repository, capsys):
    text = matrix()
    commit(repository, text.replace("layout: fat", "layuot: fat"))
    (repository / "matrix.yaml").write_text(text)
    assert run(["plan", "--diff", "HEAD"]) == 2
    said = capsys.readouterr().err
    assert "is invalid for this version of fatwheel" in said
    assert "unknown key 'layuot'" in said


def test_outside_a_repository_there_is_nothing_to_compare_with(repository, capsys):
    (repository / "matrix.yaml").write_text(matrix())
    assert run(["plan", "--diff", "HEAD"]) == 2
    assert "not a Git repository" in capsys.readouterr().err
