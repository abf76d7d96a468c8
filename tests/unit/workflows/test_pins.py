"""The commits at which actions are used, in one place, and how they move."""

from __future__ import annotations

import json
import subprocess

import pytest

from fatwheel.__main__ import run
from fatwheel.errors import ReleaseRefused, UsageError
from fatwheel.workflows.action_versions import chosen, repinned
from fatwheel.workflows.pins import Pin, pins_of, pins_text, read_pins, shipped, shipped_path
from tests.unit.workflows.repositories import ROOT, copied

ONE, TWO, THREE = "1" * 40, "2" * 40, "3" * 40


def test_the_file_of_pins_is_as_it_is_written():
    assert pins_text(shipped()) == shipped_path().read_text()


def test_the_highest_version_is_taken_at_its_commit_and_not_at_the_tag_object():
    listing = (
        f"{ONE}\trefs/tags/v9.9.9\n{TWO}\trefs/tags/v10.0.1\n{THREE}\trefs/tags/v10.0.1^{{}}\n"
        f"{ONE}\trefs/tags/v11\n{ONE}\trefs/tags/v11.0.0-beta1\n{ONE}\trefs/tags/nightly\n"
    )
    assert chosen("a/b", listing) == Pin("a/b", "v10.0.1", THREE)
    with pytest.raises(ReleaseRefused, match="no tag like"):
        chosen("a/b", f"{ONE}\trefs/tags/v11\n")


def test_workflows_written_by_hand_move_with_the_pins_and_nothing_else_in_them():
    text = (
        f"      - uses: actions/checkout@{ONE} # v1.0.0\n"
        f"      - uses: actions/cache/restore@{ONE}   # v1\n"
        f"      - uses: other/thing@{ONE} # v3\n      - uses: ./local\n      - uses: actions/checkout@v4\n"
    )
    pins = {
        "actions/checkout": Pin("actions/checkout", "v2.0.0", TWO),
        "actions/cache": Pin("actions/cache", "v5", THREE),
    }
    assert repinned(text, pins).splitlines() == [
        f"      - uses: actions/checkout@{TWO} # v2.0.0",
        f"      - uses: actions/cache/restore@{THREE} # v5",
        f"      - uses: other/thing@{ONE} # v3",
        "      - uses: ./local",
        "      - uses: actions/checkout@v4",
    ]


@pytest.mark.parametrize(("text", "said"), [
    ("{", "not JSON"), ("[]", "not an object"), ('{"a/b": {"version": "v1", "commit": "v1"}}', "a/b: no pin"),
    ('{"a/b": {"commit": "' + ONE + '"}}', "a/b: no pin"),
])  # fmt: skip
def test_a_damaged_file_of_pins_is_told(tmp_path, text, said):
    (tmp_path / "actions.json").write_text(text)
    with pytest.raises(UsageError, match=said):
        read_pins(tmp_path / "actions.json")


def test_a_repository_may_have_its_own(tmp_path):
    place = tmp_path / ".github/fatwheel/actions.json"
    place.parent.mkdir(parents=True)
    place.write_text(pins_text({"actions/checkout": Pin("actions/checkout", "v99.0.0", TWO)}))
    found = pins_of(tmp_path)
    assert found["actions/checkout"].commit == TWO
    assert found["actions/setup-python"] == shipped()["actions/setup-python"]


def _server(place):
    """A folder that git takes for the place where actions are: each has a newer version, with an annotated tag."""
    for action in shipped():
        repository = place / action
        git = ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@x"]
        repository.mkdir(parents=True)
        commit = ["commit", "-q", "--allow-empty", "-m", "x"]
        for arguments in (["init", "-q"], commit, ["tag", "v98.0.0"], commit, ["tag", "-a", "-m", "z", "v99.0.0"]):
            subprocess.run([*git, *arguments], check=True)


def test_an_update_asks_every_repository_and_moves_generated_and_handwritten_workflows(tmp_path, capsys):
    _server(tmp_path / "server")
    matrix = copied("minikernels", tmp_path / "r")
    assert run(["generate", "--matrix", str(matrix)]) == 0
    own = tmp_path / "r/.github/workflows/ci.yml"
    own.write_text(f"steps:\n  - uses: actions/checkout@{ONE} # v1.0.0\n")
    capsys.readouterr()
    command = ["pins", "--matrix", str(matrix), "--server", str(tmp_path / "server"), "--json"]
    assert run([*command, "--update"]) == 0
    told = json.loads(capsys.readouterr().out)
    head = subprocess.run(["git", "-C", str(tmp_path / "server/actions/checkout"), "rev-parse", "HEAD"],
                          capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
    assert told["pins"]["actions/checkout"] == {"version": "v99.0.0", "commit": head}
    assert own.read_text() == f"steps:\n  - uses: actions/checkout@{head} # v99.0.0\n"
    assert len(told["changed"]) == 2
    assert run(["generate", "--check", "--matrix", str(matrix)]) == 3
    assert run(["generate", "--matrix", str(matrix)]) == 0
    assert f"actions/checkout@{head} # v99.0.0" in (tmp_path / "r/.github/workflows/release.yml").read_text()
    capsys.readouterr()
    assert run([*command, "--update"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] == []


def test_a_server_that_cannot_be_read_changes_nothing(tmp_path, capsys):
    matrix = copied("minikernels", tmp_path / "r")
    assert run(["pins", "--update", "--matrix", str(matrix), "--server", str(tmp_path / "none")]) == 7
    assert "cannot be read" in capsys.readouterr().err
    assert not (tmp_path / "r/.github").exists()


def test_what_jobs_install_is_locked_at_the_versions_that_are_tested():
    """requirements/release.txt is for this project's workflows, requirements/dev.txt for its tests."""
    held = [
        {line.split()[0] for line in (ROOT / "requirements" / name).read_text().splitlines() if "==" in line}
        for name in ("release.txt", "dev.txt")
    ]
    assert held[0] < held[1]
