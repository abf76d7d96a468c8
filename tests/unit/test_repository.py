"""The files of this repository agree with each other."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def _block(text: str) -> dict[str, object]:
    """Return the PEP 723 block of a script."""
    match = re.search(r"(?ms)^# /// script\n(.*?)^# ///$", text)
    assert match
    return tomllib.loads("".join(line[2:] for line in match[1].splitlines(keepends=True)))


def test_the_noxfile_declares_what_the_project_depends_on():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    block = _block((ROOT / "noxfile.py").read_text())
    assert block["dependencies"] == project["dependencies"]
    assert block["requires-python"] == project["requires-python"]


def test_the_lock_file_contains_all_dependencies_of_the_project_and_its_developers():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())
    required = data["project"]["dependencies"] + data["dependency-groups"]["dev"]
    names = {re.match(r"[A-Za-z0-9._-]+", one)[0].lower().replace("_", "-") for one in required}
    lines = (ROOT / "requirements/dev.txt").read_text().splitlines()
    locked = {re.split(r"==|\[", line)[0] for line in lines if "==" in line}
    assert names <= locked


@pytest.mark.parametrize("path", sorted((ROOT / "pipeline").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_starts_with_a_docstring_or_header(path):
    assert path.read_text().startswith(('"""', "#!", "# "))


def _nox(*arguments: str) -> str:
    command = [sys.executable, "-m", "nox", "-l", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_every_cell_has_a_session_with_its_id_and_tags():
    sessions = {one["session"]: one["tags"] for one in json.loads(_nox("--json", "-s", "build"))}
    assert len(sessions) == 18
    assert sessions["build(cuda=130,arch=aarch64,family=sm12x)"] == ["cu130", "aarch64", "sm12x"]
    assert sessions["build(cuda=134,arch=x86_64,family=sm9x)"] == ["cu134", "x86_64", "sm9x"]


def test_the_usual_commands_have_sessions():
    names = set(re.findall(r"(?m)^[*-] ([a-z]+)", _nox()))
    assert {"check", "plan", "build", "inventory", "verify", "smoke", "release", "index", "rehearse", "tests"} <= names


HOOKS = {
    hook["id"]: hook
    for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    for hook in repo["hooks"]
}


@pytest.mark.parametrize(
    "hook", [hook for hook in HOOKS.values() if hook["language"] == "system"], ids=lambda h: h["id"]
)
def test_a_hook_runs_an_installed_command_on_existing_files(hook):
    program, *arguments = hook["entry"].split()
    assert shutil.which(program, path=str(Path(sys.executable).parent))
    assert all((ROOT / word).is_file() for word in arguments if word.endswith(".py"))


@pytest.mark.parametrize(
    ("message", "rejected"),
    [("x" * 72, False), ("x" * 73, True), (f"Short\n\n{'x' * 200}\n", False), (f"{'x' * 73}\n\nBody\n", True)],
)
def test_the_commit_hook_rejects_subjects_of_more_than_72_characters(message, rejected):
    hook = HOOKS["commit-subject"]
    assert (hook["language"], hook["args"], hook["stages"]) == ("pygrep", ["--multiline"], ["commit-msg"])
    assert bool(re.search(hook["entry"], message, re.MULTILINE | re.DOTALL)) == rejected


def test_the_changelog_has_a_section_for_unreleased_changes_and_for_this_version():
    from fatwheel import __version__

    sections = re.findall(r"(?m)^## (.+)$", (ROOT / "CHANGELOG.md").read_text())
    assert sections == sorted(sections, reverse=True)
    assert sections[0] == "Unreleased"
    assert __version__ in sections


def test_every_path_that_the_architecture_page_names_exists():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").split("## Decisions")[0].split("## Layers")[-1]
    named = re.findall(r"`((?:[\w.]+/)*[\w.]+(?:\.py|/))`", text)
    package = ROOT / "pipeline/fatwheel"
    roots = (ROOT, package, package / "wheels", ROOT / "scripts")
    assert len(named) > 30
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []
