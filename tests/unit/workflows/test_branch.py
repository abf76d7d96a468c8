"""Pushing an index to a branch: no other push is lost, and nothing is force-pushed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fatwheel.clock import Clock
from fatwheel.errors import ReleaseRefused
from fatwheel.workflows.branch import Branch, _environment, push, remote_url


class Patient(Clock):
    """Records waits instead of sleeping."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def sleep(self, seconds, stop=None):  # noqa: ARG002
        self.waits.append(seconds)


def git(place: Path, *arguments: str) -> str:
    command = ["git", "-C", str(place), "-c", "user.name=t", "-c", "user.email=t@x", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def remote(tmp_path):
    git(tmp_path, "init", "-q", "--bare", "--initial-branch=main", str(tmp_path / "remote.git"))
    return tmp_path / "remote.git"


def writes(name, text="x"):
    def fill(folder: Path) -> None:
        (folder / name).write_text(text)

    return fill


def files(remote: Path, branch="gh-pages") -> list[str]:
    return git(remote, "ls-tree", "-r", "--name-only", branch).split()


def test_a_missing_branch_is_created(remote):
    done = push(Branch(str(remote), "gh-pages", "whl"), writes("index.html"), "first", environ=os.environ)
    assert done.changed
    assert files(remote) == ["whl/index.html"]
    assert git(remote, "log", "-1", "--format=%s|%an", "gh-pages").strip() == "first|fatwheel"


def test_other_files_stay(remote):
    place = Branch(str(remote), "gh-pages", "whl")
    push(Branch(str(remote), "gh-pages"), writes("CNAME"), "other", environ=os.environ)
    push(place, writes("index.html"), "index", environ=os.environ)
    assert files(remote) == ["CNAME", "whl/index.html"]
    before = git(remote, "rev-parse", "gh-pages")
    done = push(place, writes("index.html"), "again", environ=os.environ)
    assert (done.changed, done.commit) == (False, before.strip())
    assert git(remote, "rev-parse", "gh-pages") == before


@pytest.mark.parametrize("races", [1, 3])
def test_after_another_push_the_files_are_updated_again(remote, races):
    push(Branch(str(remote), "gh-pages"), writes("old"), "old", environ=os.environ)
    clock, calls = Patient(), []

    def fill(folder: Path) -> None:
        seen = sorted(path.name for path in folder.iterdir() if path.name != ".git")
        calls.append(seen)
        if len(calls) <= races:  # another push comes before this one
            push(Branch(str(remote), "gh-pages"), writes(f"other{len(calls)}"), "other", environ=os.environ)
        (folder / "mine").write_text("mine")

    done = push(Branch(str(remote), "gh-pages"), fill, "mine", environ=os.environ, clock=clock)
    assert done.races == races
    assert files(remote) == ["mine", "old", *[f"other{n}" for n in range(1, races + 1)]]
    assert calls[-1] == ["old", *[f"other{n}" for n in range(1, races + 1)]]
    assert len(clock.waits) == races


def test_two_pushes_that_create_the_branch_both_succeed(remote):
    calls = []

    def fill(folder: Path) -> None:
        calls.append(1)
        if len(calls) == 1:
            push(Branch(str(remote), "gh-pages"), writes("other"), "other", environ=os.environ)
        (folder / "mine").write_text("mine")

    push(Branch(str(remote), "gh-pages"), fill, "mine", environ=os.environ, clock=Patient())
    assert files(remote) == ["mine", "other"]


def test_too_many_other_pushes_are_an_error(remote):
    count = [0]

    def fill(folder: Path) -> None:
        count[0] += 1
        push(Branch(str(remote), "gh-pages"), writes(f"other{count[0]}"), "other", environ=os.environ)
        (folder / "mine").write_text("mine")

    with pytest.raises(ReleaseRefused, match="gave up after 8 attempts"):
        push(Branch(str(remote), "gh-pages"), fill, "mine", environ=os.environ, clock=Patient())
    assert "mine" not in files(remote)


def test_a_rejected_push_fails_at_once_with_the_servers_message(remote):
    hook = remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'GH006: Protected branch update failed' >&2\nexit 1\n")
    hook.chmod(0o755)
    clock = Patient()
    with pytest.raises(ReleaseRefused, match="Protected branch update failed"):
        push(Branch(str(remote), "gh-pages"), writes("x"), "x", environ=os.environ, clock=clock)
    assert not clock.waits


def test_a_missing_repository_is_an_error(tmp_path):
    with pytest.raises(ReleaseRefused, match="cannot read "):
        push(Branch(str(tmp_path / "none"), "b"), writes("x"), "x", environ=os.environ)


def test_an_exception_in_fill_leaves_no_files_behind(remote, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def fill(folder: Path) -> None:  # noqa: ARG001
        raise ReleaseRefused("the store is away")

    with pytest.raises(ReleaseRefused, match="the store is away"):
        push(Branch(str(remote), "gh-pages"), fill, "x", environ=os.environ)
    assert not list(tmp_path.glob("fatwheel-branch-*"))


def test_the_token_is_sent_only_to_its_host_and_is_not_an_argument():
    branch = Branch("https://github.com/o/r.git", "b", token="s3cret")
    env = _environment(branch, {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c",
                                "GIT_DIR": "/elsewhere"})  # fmt: skip
    assert env["GIT_CONFIG_COUNT"] == "2"
    assert env["GIT_CONFIG_KEY_1"] == "http.https://github.com/.extraheader"
    assert env["GIT_CONFIG_VALUE_1"].startswith("AUTHORIZATION: basic ")
    assert "s3cret" not in str(env)
    assert "GIT_DIR" not in env
    assert "GIT_CONFIG_COUNT" not in _environment(Branch("http://github.com/o/r", "b", token="s3cret"), {})
    assert "GIT_CONFIG_COUNT" not in _environment(Branch("/local", "b", token="s3cret"), {})


def test_the_url_of_a_repository():
    assert remote_url("o/r", {}) == "https://github.com/o/r.git"
    assert remote_url("o/r", {"GITHUB_SERVER_URL": "https://ghe.example/"}) == "https://ghe.example/o/r.git"
