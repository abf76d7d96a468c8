"""Generated and handwritten workflows pass zizmor, actionlint, shellcheck and the JSON schema."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fatwheel.declaration import load
from fatwheel.workflows.context import read_context
from fatwheel.workflows.generate import generate_files
from tests.unit.workflows.repositories import ROOT, SETS, copied

pytestmark = pytest.mark.integration
HOOK_STEPS = """\
# Room on the runner's disk.
- name: Make room
  env:
    WHAT: /usr/share/dotnet
  run: |
    df -h .
    sudo rm -rf "$WHAT"
"""


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed; the development environment has it")
    return found


def checked(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], check=False, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module", params=[*SETS, "ours", "hooks"])
def repository(request, tmp_path_factory):
    """A repository with generated workflows: each set, this project itself, and one with steps for every hook."""
    place = tmp_path_factory.mktemp(request.param)
    if request.param == "ours":
        shutil.copytree(ROOT / ".github", place / ".github")
        subprocess.run(["git", "init", "--quiet", str(place)], check=True)
        return place
    name = "minikernels" if request.param == "hooks" else request.param
    matrix = copied(name, place, nox=name == "minikernels")
    shutil.rmtree(place / ".git")
    subprocess.run(["git", "init", "--quiet", str(place)], check=True)
    if request.param == "hooks":
        from fatwheel.workflows.step_hooks import HOOKS

        (place / ".github/fatwheel").mkdir(parents=True)
        for hook in HOOKS:
            (place / f".github/fatwheel/{hook}.yml").write_text(HOOK_STEPS)
    (place / ".github/workflows").mkdir(parents=True)
    for file, text in generate_files(read_context(load(matrix))).items():
        (place / ".github/workflows" / file).write_text(text)
    return place


def workflows(place: Path) -> list[Path]:
    return sorted((place / ".github/workflows").glob("*.yml"))


def test_zizmor_finds_nothing_in_its_pedantic_persona(repository):
    said = checked(tool("zizmor"), "--offline", "--no-progress", "--persona", "pedantic", "--strict-collection",
                   "--format", "plain", repository, cwd=repository)  # fmt: skip
    assert "No findings to report" in said


def test_githubs_schema_takes_them(repository):
    checked(tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *workflows(repository),
            cwd=repository)  # fmt: skip


def test_actionlint_finds_nothing_and_shellcheck_nothing_in_any_run(repository):
    checked(tool("actionlint"), "-shellcheck", tool("shellcheck"), *workflows(repository), cwd=repository)


def test_actionlint_sees_what_shellcheck_says(tmp_path):
    """The gate above would be green without it, too."""
    bad = "name: x\non: push\njobs:\n  x:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: rm -rf $UNQUOTED\n"
    (tmp_path / "x.yml").write_text(bad)
    command = [tool("actionlint"), "-shellcheck", tool("shellcheck"), "x.yml"]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert "SC2086" in done.stdout


def _scripts() -> list[Path]:
    """Shell scripts of this project, by their first line."""
    places = [ROOT / ".ci", ROOT / "scripts", ROOT / "examples", ROOT / "tests/actions"]
    files = [path for place in places for path in sorted(place.rglob("*")) if path.is_file()]
    shells = (b"#!/bin/sh", b"#!/bin/bash", b"#!/usr/bin/env bash", b"#!/usr/bin/env sh")
    return [path for path in files if path.read_bytes().partition(b"\n")[0].rstrip() in shells]


def test_shellcheck_finds_nothing_in_the_scripts():
    found = _scripts()
    assert ROOT / ".ci/run" in found
    checked(tool("shellcheck"), *found, cwd=ROOT)


def test_workflows_written_by_hand_have_the_same_pins():
    from fatwheel.workflows.action_versions import find_handwritten, update_pins
    from fatwheel.workflows.context import MARK
    from fatwheel.workflows.pins import default_pins

    files = find_handwritten(ROOT / ".github", [f"# {MARK} "])
    assert [path.name for path in files] == ["ci.yml"]
    for path in files:
        text = path.read_text()
        assert update_pins(text, default_pins()) == text
        assert not re.search(r"uses:(?!.*@[0-9a-f]{40} # v)", text)
