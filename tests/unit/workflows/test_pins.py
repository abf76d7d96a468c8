"""Pinned actions, and updating their pins."""

from __future__ import annotations

import json
import subprocess

import pytest

from fatwheel.__main__ import run
from fatwheel.errors import ReleaseRefused, UsageError
from fatwheel.workflows.action_versions import select_newest, update_pins
from fatwheel.workflows.pins import Pin, default_pins, default_pins_path, format_pins, load_pins, read_pins
from tests.unit.workflows.repositories import ROOT, copied

ONE, TWO, THREE = "1" * 40, "2" * 40, "3" * 40


def test_the_file_of_pins_is_formatted():
    assert format_pins(default_pins()) == default_pins_path().read_text()


def test_the_newest_version_is_pinned_to_its_commit_and_not_to_the_tag_object():
    listing = (
        f"{ONE}\trefs/tags/v9.9.9\n{TWO}\trefs/tags/v10.0.1\n{THREE}\trefs/tags/v10.0.1^{{}}\n"
        f"{ONE}\trefs/tags/v11\n{ONE}\trefs/tags/v11.0.0-beta1\n{ONE}\trefs/tags/nightly\n"
    )
    assert select_newest("a/b", listing) == Pin("a/b", "v10.0.1", THREE)
    with pytest.raises(ReleaseRefused, match="has no tag in the form"):
        select_newest("a/b", f"{ONE}\trefs/tags/v11\n")


def test_only_pinned_actions_change_in_handwritten_workflows():
    text = (
        f"      - uses: actions/checkout@{ONE} # v1.0.0\n"
        f"      - uses: actions/cache/restore@{ONE}   # v1\n"
        f"      - uses: other/thing@{ONE} # v3\n      - uses: ./local\n      - uses: actions/checkout@v4\n"
    )
    pins = {
        "actions/checkout": Pin("actions/checkout", "v2.0.0", TWO),
        "actions/cache": Pin("actions/cache", "v5", THREE),
    }
    assert update_pins(text, pins).splitlines() == [
        f"      - uses: actions/checkout@{TWO} # v2.0.0",
        f"      - uses: actions/cache/restore@{THREE} # v5",
        f"      - uses: other/thing@{ONE} # v3",
        "      - uses: ./local",
        "      - uses: actions/checkout@v4",
    ]


@pytest.mark.parametrize(("text", "message"), [
    ("{", "invalid JSON"), ("[]", "expected an object"),
    ('{"a/b": {"version": "v1", "commit": "v1"}}', "invalid pin: a/b"),
    ('{"a/b": {"commit": "' + ONE + '"}}', "invalid pin: a/b"),
])  # fmt: skip
def test_an_invalid_file_of_pins_is_an_error(tmp_path, text, message):
    (tmp_path / "actions.json").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_pins(tmp_path / "actions.json")


def test_a_repository_can_have_its_own_pins(tmp_path):
    place = tmp_path / ".github/fatwheel/actions.json"
    place.parent.mkdir(parents=True)
    place.write_text(format_pins({"actions/checkout": Pin("actions/checkout", "v99.0.0", TWO)}))
    found = load_pins(tmp_path)
    assert found["actions/checkout"].commit == TWO
    assert found["actions/setup-python"] == default_pins()["actions/setup-python"]


def _server(place):
    """Create a folder of action repositories, each with a newer version that has an annotated tag."""
    for action in default_pins():
        repository = place / action
        git = ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@x"]
        repository.mkdir(parents=True)
        commit = ["commit", "-q", "--allow-empty", "-m", "x"]
        for arguments in (["init", "-q"], commit, ["tag", "v98.0.0"], commit, ["tag", "-a", "-m", "z", "v99.0.0"]):
            subprocess.run([*git, *arguments], check=True)


def test_an_update_changes_generated_and_handwritten_workflows(tmp_path, capsys):
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


def test_an_unreachable_server_changes_nothing(tmp_path, capsys):
    matrix = copied("minikernels", tmp_path / "r")
    assert run(["pins", "--update", "--matrix", str(matrix), "--server", str(tmp_path / "none")]) == 7
    assert "cannot read" in capsys.readouterr().err
    assert not (tmp_path / "r/.github").exists()


def test_jobs_install_the_tested_versions():
    """requirements/release.txt is for this project's workflows, requirements/dev.txt for its tests."""
    held = [
        {line.split()[0] for line in (ROOT / "requirements" / name).read_text().splitlines() if "==" in line}
        for name in ("release.txt", "dev.txt")
    ]
    assert held[0] < held[1]
