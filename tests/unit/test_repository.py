"""Facts that this repository must state alike wherever it states them."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _block(text: str) -> dict[str, object]:
    """The PEP 723 block of a script."""
    match = re.search(r"(?ms)^# /// script\n(.*?)^# ///$", text)
    assert match
    return tomllib.loads("".join(line[2:] for line in match[1].splitlines(keepends=True)))


def test_the_noxfile_declares_what_the_project_depends_on():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    block = _block((ROOT / "noxfile.py").read_text())
    assert block["dependencies"] == project["dependencies"]
    assert block["requires-python"] == project["requires-python"]


def test_the_lock_holds_everything_the_project_and_its_developers_ask_for():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())
    asked = data["project"]["dependencies"] + data["dependency-groups"]["dev"]
    names = {re.match(r"[A-Za-z0-9._-]+", one)[0].lower().replace("_", "-") for one in asked}
    lines = (ROOT / "requirements/dev.txt").read_text().splitlines()
    locked = {re.split(r"==|\[", line)[0] for line in lines if "==" in line}
    assert names <= locked


@pytest.mark.parametrize("path", sorted((ROOT / "pipeline").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_opens_with_what_it_is_for(path):
    assert path.read_text().startswith(('"""', "#!", "# "))


def _nox(*arguments: str) -> str:
    command = [sys.executable, "-m", "nox", "-l", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_a_session_is_there_for_every_cell_with_its_id_and_tags():
    sessions = {one["session"]: one["tags"] for one in json.loads(_nox("--json", "-s", "build"))}
    assert len(sessions) == 18
    assert sessions["build(cuda=130,arch=aarch64,family=sm12x)"] == ["cu130", "aarch64", "sm12x"]
    assert sessions["build(cuda=134,arch=x86_64,family=sm9x)"] == ["cu134", "x86_64", "sm9x"]


def test_a_session_is_there_for_every_verb_of_the_line():
    names = set(re.findall(r"(?m)^[*-] ([a-z]+)", _nox()))
    assert {"check", "plan", "build", "inventory", "verify", "smoke", "release", "index", "rehearse", "tests"} <= names
