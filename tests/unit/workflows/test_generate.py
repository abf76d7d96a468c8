"""What is generated, written, compared and removed."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from fatwheel.__main__ import run
from fatwheel.declaration import load
from fatwheel.workflows.context import context_of
from fatwheel.workflows.generate import differences, generated
from tests.golden import same_as_golden
from tests.unit.workflows.repositories import ROOT, SETS, changed, copied

NOX = {"flashinfer-split", "minikernels"}


_MADE: dict[str, dict[str, str]] = {}


def anew(name, place):
    return dict(generated(context_of(load(copied(name, place, nox=name in NOX)))))


def files_of(name, place):
    """What a set generates, once for all tests."""
    if name not in _MADE:
        _MADE[name] = anew(name, place)
    return _MADE[name]


@pytest.mark.parametrize("name", SETS)
def test_each_set_generates_what_it_did(name, tmp_path):
    for file, text in files_of(name, tmp_path).items():
        same_as_golden(f"workflows/{name}/{file}", text)


@pytest.mark.parametrize("name", SETS)
def test_the_same_bytes_come_from_anywhere(name, tmp_path, monkeypatch):
    first = anew(name, tmp_path / "a" / "b")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("LC_ALL", "C")
    assert anew(name, tmp_path / "c") == first
    for text in first.values():
        assert "\r" not in text
        assert text.endswith("\n")
        assert not re.search(r"[ \t]$", text, re.MULTILINE)


def test_this_repository_holds_what_it_generates():
    assert not differences(load(ROOT / "matrix.yaml"))


def test_the_header_changes_with_what_is_declared_and_not_with_its_layout(tmp_path):
    matrix = copied("minikernels", tmp_path)
    before = context_of(load(matrix)).digest
    assert context_of(changed(matrix, ("# A promise to users", "# Promised"))).digest == before
    assert context_of(changed(matrix, ("12.0f\n      # 11.0", "12.0f 12.1a\n      # 11.0"))).digest != before


def test_a_change_of_one_line_is_drift_until_it_is_generated_again(tmp_path, capsys):
    matrix = copied("minikernels", tmp_path)
    command = ["generate", "--matrix", str(matrix)]
    assert run(command) == 0
    assert run([*command, "--check"]) == 0
    assert run(["check", "--matrix", str(matrix)]) == 0
    changed(matrix, ("aarch64: ubuntu-24.04-arm", "aarch64: my-own-arm"))
    capsys.readouterr()
    assert run([*command, "--check"]) == 3
    said = capsys.readouterr().err
    assert "--- .github/workflows/release.yml" in said
    assert f"run `fatwheel generate --matrix {matrix}`" in said
    assert run(["check", "--matrix", str(matrix)]) == 3
    assert "the workflows are not what this declaration generates" in capsys.readouterr().err
    assert run(command) == 0
    assert run(["check", "--matrix", str(matrix)]) == 0


def test_an_edit_by_hand_is_shown_with_its_line(tmp_path, capsys):
    matrix = copied("minikernels", tmp_path)
    assert run(["generate", "--matrix", str(matrix)]) == 0
    path = tmp_path / ".github/workflows/release.yml"
    path.write_text(path.read_text().replace("fail-fast: false", "fail-fast: true"))
    assert run(["generate", "--check", "--matrix", str(matrix)]) == 3
    said = capsys.readouterr().err
    assert "-      fail-fast: true" in said
    assert "+      fail-fast: false" in said


def test_other_line_ends_are_drift(tmp_path, capsys):
    matrix = copied("minikernels", tmp_path)
    assert run(["generate", "--matrix", str(matrix)]) == 0
    path = tmp_path / ".github/workflows/nightly.yml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert run(["generate", "--check", "--matrix", str(matrix)]) == 3
    assert "nightly.yml" in capsys.readouterr().err


def test_what_no_declaration_asks_for_any_more_is_an_orphan_and_goes(tmp_path, capsys):
    matrix = copied("minikernels", tmp_path)
    assert run(["generate", "--matrix", str(matrix)]) == 0
    own = tmp_path / ".github/workflows/own.yml"
    own.write_text("name: mine\n")
    text = matrix.read_text()
    matrix.write_text(text[: text.index("  nightly: ")] + text[text.index("  pull-request: ") :])
    capsys.readouterr()
    assert run(["generate", "--check", "--matrix", str(matrix)]) == 3
    assert ".github/workflows/nightly.yml: an orphan" in capsys.readouterr().err
    assert run(["generate", "--json", "--matrix", str(matrix)]) == 0
    assert json.loads(capsys.readouterr().out)["files"][".github/workflows/nightly.yml"] == "orphan"
    assert not (tmp_path / ".github/workflows/nightly.yml").exists()
    assert own.read_text() == "name: mine\n"


def test_generated_files_are_marked_and_other_lines_of_gitattributes_stay(tmp_path):
    matrix = copied("cmake", tmp_path)
    (tmp_path / ".gitattributes").write_text("*.bin binary\n")
    assert run(["generate", "--matrix", str(matrix)]) == 0
    assert (tmp_path / ".gitattributes").read_text().splitlines() == [
        "*.bin binary",
        ".github/workflows/nightly.yml linguist-generated=true text eol=lf",
        ".github/workflows/release.yml linguist-generated=true text eol=lf",
    ]


def test_a_declaration_below_the_root_is_named_to_every_job(tmp_path):
    matrix = copied("minikernels", tmp_path / "packages" / "mini")
    (tmp_path / "packages" / "mini" / ".git").rmdir()
    (tmp_path / ".git").mkdir()
    assert run(["generate", "--matrix", str(matrix)]) == 0
    held = yaml.safe_load((tmp_path / ".github/workflows/release.yml").read_text())
    assert held["env"] == {"FATWHEEL_MATRIX": "packages/mini/matrix.yaml"}


def test_nox_is_asked_for_where_there_is_none(tmp_path, capsys):
    matrix = copied("minikernels", tmp_path)
    changed(matrix, ("runners:\n", "workflows: {run: nox}\n\nrunners:\n"))
    assert run(["generate", "--matrix", str(matrix)]) == 2
    assert "no noxfile.py here takes its sessions from fatwheel" in capsys.readouterr().err


def jobs(name, file, place):
    return yaml.safe_load(files_of(name, place)[file])["jobs"]


@pytest.mark.parametrize("name", SETS)
def test_only_those_that_publish_hold_a_right_to_write(name, tmp_path):
    for file, text in files_of(name, tmp_path).items():
        for job, body in yaml.safe_load(text)["jobs"].items():
            if body["permissions"].get("contents") == "write":
                assert job in {"publish", "index", "prune"}, (file, job)
                assert body["environment"], (file, job)
        assert "pull_request_target" not in text
        assert text.count("persist-credentials: false") == text.count("uses: actions/checkout@")


def test_a_pull_request_holds_no_secret_and_signs_nothing(tmp_path):
    text = files_of("minikernels", tmp_path)["pull-request.yml"]
    assert "secrets." not in text
    assert "id-token" not in text
    assert "actions/attest" not in text


def test_another_repository_is_opened_by_its_own_token_and_only_where_it_is_written(tmp_path):
    found = jobs("flashinfer-split", "nightly.yml", tmp_path)
    holders = {job for job, body in found.items() if "secrets.WHL_TOKEN" in json.dumps(body)}
    assert holders == {"publish", "index", "prune"}
    assert found["publish"]["permissions"]["contents"] == "read"
    assert "--commit" not in json.dumps(found["publish"])  # that repository has no such commit
    assert "--commit" in json.dumps(jobs("flashinfer-split", "release.yml", tmp_path / "2")["publish"])


def test_pypi_is_published_to_without_a_password_from_the_workflow_itself(tmp_path):
    found = jobs("cmake", "release.yml", tmp_path)["pypi"]
    assert found["permissions"]["id-token"] == "write"
    assert found["environment"] == "pypi"
    assert "uses" not in found  # no reusable workflow
    assert "pypi" not in jobs("minikernels", "release.yml", tmp_path / "2")


def test_publishing_waits_for_all_and_for_nobodys_success(tmp_path):
    publish = jobs("minikernels", "release.yml", tmp_path)["publish"]
    assert publish["needs"] == ["plan", "build", "smoke"]
    assert publish["if"] == "${{ !cancelled() && needs.plan.result == 'success' }}"
    assert publish["concurrency"]["cancel-in-progress"] is False


def test_one_index_job_at_a_time_over_all_workflows(tmp_path):
    groups = {jobs("flashinfer-split", f"{n}.yml", tmp_path / n)["index"]["concurrency"]["group"]
              for n in ("release", "nightly")}  # fmt: skip
    assert groups == {"fatwheel-index"}


def test_pages_are_deployed_and_other_workflows_started_where_asked(tmp_path):
    found = jobs("torch", "release.yml", tmp_path)
    assert found["index"]["environment"]["name"] == "github-pages"
    assert found["index"]["permissions"] == {"contents": "read", "pages": "write", "id-token": "write"}
    assert found["dispatch"]["permissions"] == {"actions": "write"}
    assert "gh workflow run docs.yml" in found["dispatch"]["steps"][0]["run"]


def test_images_behind_a_login_are_logged_in_to(tmp_path):
    matrix = copied("minikernels", tmp_path)
    declaration = changed(matrix, ("nvidia/cuda@", "ghcr.io/octo/cuda@"),
                          ("runners:\n", "secrets: {ghcr.io: GHCR_TOKEN}\n\nrunners:\n"))  # fmt: skip
    files = generated(context_of(declaration))
    assert "registry: ghcr.io" in files["release.yml"]
    assert "registry:" not in files["pull-request.yml"]  # it builds in no image of that registry
