"""Folders that cannot be written: exit code 2 for output, one line for any of them, never a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.building.samples import GOOD_TREE, environment, pure

ROOT = Path(__file__).resolve().parents[3] / "pipeline"


def build(tmp_path, *arguments, cwd=None, **variables):
    """Run `fatwheel build demo` in a process; its exit code and standard error."""
    pure(tmp_path / "project", GOOD_TREE)
    env = environment(tmp_path / "cache") | {"PYTHONPATH": str(ROOT)} | variables
    command = [sys.executable, "-P", "-m", "fatwheel", "build", "demo", "-m", str(tmp_path / "project" / "matrix.yaml")]
    answer = subprocess.run(
        [*command, *map(str, arguments)], cwd=cwd or tmp_path, env={k: v for k, v in env.items() if v is not None},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in answer.stderr
    errors = [line for line in answer.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == min(1, answer.returncode)
    return answer.returncode, answer.stderr


@pytest.mark.parametrize("folder", ["/proc", "/proc/nowhere", "/dev/null", "file", "file/deep", "x" * 300])
@pytest.mark.parametrize("options", [(), ("--fake-size", "70000")])
def test_an_output_folder_that_cannot_be_written(tmp_path, folder, options):
    (tmp_path / "file").touch()
    code, err = build(tmp_path, "-o", folder, *options)
    assert code == 2
    assert f"error: {folder}: cannot write to the output folder: " in err
    assert "help: choose another output folder" in err


def test_a_working_folder_that_was_deleted(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    pure(tmp_path / "project", GOOD_TREE)
    matrix = tmp_path / "project" / "matrix.yaml"
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -P -m fatwheel build demo -m {matrix}"
    env = environment(tmp_path / "cache") | {"PYTHONPATH": str(ROOT)}
    answer = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert "error: the working folder no longer exists" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("home", ["/proc", "/dev/null", "/proc/nowhere"])
def test_a_home_that_cannot_be_written(tmp_path, home):
    code, err = build(tmp_path, "-o", "dist", HOME=home, FATWHEEL_CACHE=None, XDG_CACHE_HOME=None)
    assert code == 2
    assert f"error: {home}" in err
    assert "FATWHEEL_CACHE" in err


def test_a_folder_for_temporary_files_that_does_not_exist(tmp_path):
    code, err = build(tmp_path, "-o", "dist", TMPDIR="/proc")
    assert code in (0, 4), err  # Python falls back to /tmp where it can


def test_an_output_folder_that_exists_is_kept(tmp_path):
    (tmp_path / "dist").mkdir()
    code, err = build(tmp_path, "-o", "dist")
    assert code == 0, err
    assert len(list((tmp_path / "dist").glob("*.whl"))) == 1
