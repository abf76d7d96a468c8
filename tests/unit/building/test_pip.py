"""What pip's failures are turned into; pip itself is real."""

import importlib.util
import sys
from dataclasses import replace

import pytest

from fatwheel.building.pip import DownloadRetries, make_build_venv, own_pip, run_pip_with_retries
from fatwheel.errors import BuildError
from fatwheel.pythons import clean_python
from tests.unit.building.samples import environment, program

# A pip of its own configuration: no machine's settings reach these tests.
ALONE = {"PIP_CONFIG_FILE": "/dev/null", "PIP_RETRIES": "1", "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": ""}


def install(tmp_path, *arguments, python=sys.executable, **environ):
    run_pip_with_retries(
        python,
        ["install", "--target", str(tmp_path / "there"), *arguments],
        what="the thing",
        environ=clean_python(environment(tmp_path, **(ALONE | environ))),
        cwd=tmp_path,
        notify=lambda _: None,
    )


needs_pip = pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="this Python has no pip")


@needs_pip
def test_no_network(tmp_path):
    with pytest.raises(BuildError, match="the thing: cannot reach the package index") as caught:
        install(tmp_path, "fatwheel-test-nothing==1.0", PIP_INDEX_URL="http://127.0.0.1:1/simple")
    assert caught.value.exit_code == 4
    assert "PIP_INDEX_URL" in str(caught.value.help)
    assert "pip: " in caught.value.what


@needs_pip
def test_no_such_version(tmp_path):
    with pytest.raises(BuildError, match="no matching version for this machine"):
        install(tmp_path, "fatwheel-test-nothing==1.0", PIP_NO_INDEX="1")


def test_a_full_disk_is_told_from_what_pip_says(tmp_path):
    full = program(tmp_path / "python", "echo 'ERROR: Could not install: [Errno 28] No space left on device'; exit 1")
    with pytest.raises(BuildError, match="the thing: the disk is full") as caught:
        install(tmp_path, "x", python=full)
    assert "FATWHEEL_CACHE" in str(caught.value.help)


def test_what_is_not_understood_is_shown_as_pip_says_it(tmp_path):
    odd = program(tmp_path / "python", "for i in 1 2 3 4 5 6 7 8; do echo line $i; done; exit 9")
    with pytest.raises(BuildError, match="pip exited with code 9") as caught:
        install(tmp_path, "x", python=odd)
    assert next(line for line in caught.value.what.splitlines() if "pip:" in line) == "  pip: line 3"


def test_a_python_without_pip_gets_one(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    python = own_pip(tmp_path, clean_python(environment(tmp_path)))
    assert python.is_relative_to(tmp_path)
    assert python.exists()


def test_a_python_that_makes_no_environments(tmp_path):
    broken = program(tmp_path / "python", "echo 'ensurepip is not available'; exit 1")
    with pytest.raises(BuildError, match=r"cannot create a virtual environment.*\n  venv: ensurepip is not") as caught:
        make_build_venv(broken, tmp_path / "env", pip=True, environ=environment(tmp_path))
    assert "python3-venv" in str(caught.value.help)


def test_another_pythons_packages_stay_out():
    clean = clean_python({"PYTHONPATH": "/x", "VIRTUAL_ENV": "/y", "PIP_TARGET": "/z", "PIP_INDEX_URL": "kept"})
    assert not {"PYTHONPATH", "VIRTUAL_ENV", "PIP_TARGET"} & set(clean)
    assert (clean["PIP_INDEX_URL"], clean["PYTHONNOUSERSITE"]) == ("kept", "1")


def counted(tmp_path, text, after):
    """A python whose pip fails with ``text`` so many times, and then does well."""
    tries = tmp_path / "tries"
    return program(
        tmp_path / "python",
        f"echo x >> {tries}; [ $(wc -l < {tries}) -gt {after} ] || {{ echo '{text}'; exit 1; }}",
    ), tries


def retried(tmp_path, python, retries):
    waits = []
    run_pip_with_retries(
        python, ["install", "x"], what="x", environ=environment(tmp_path), cwd=tmp_path, notify=lambda _: None,
        retries=replace(retries, pause=waits.append),
    )  # fmt: skip
    return waits


def test_a_network_that_fails_for_the_moment_is_tried_again(tmp_path):
    python, _ = counted(tmp_path, "Connection reset by peer: NewConnectionError", 2)
    assert retried(tmp_path, python, DownloadRetries(waits=(5.0, 30.0))) == [5.0, 30.0]


def test_a_network_that_stays_away_ends_the_build(tmp_path):
    python, tries = counted(tmp_path, "HTTP error: 503 Server Error", 9)
    with pytest.raises(BuildError, match="cannot reach the package index"):
        retried(tmp_path, python, DownloadRetries(waits=(5.0, 30.0)))
    assert tries.read_text() == "x\n" * 3


def test_a_version_that_is_not_there_is_waited_for_only_within_the_window(tmp_path):
    python, tries = counted(tmp_path, "ERROR: No matching distribution found for x", 2)
    with pytest.raises(BuildError, match="no matching version"):
        retried(tmp_path, python, DownloadRetries())
    tries.unlink()
    assert retried(tmp_path, python, DownloadRetries(window=3600.0)) == [60.0, 60.0]


def test_the_window_ends(tmp_path):
    python, tries = counted(tmp_path, "ERROR: No matching distribution found for x", 99)
    clock = iter([0.0, 50.0, 110.0, 170.0])
    with pytest.raises(BuildError, match="no matching version"):
        retried(tmp_path, python, DownloadRetries(window=120.0, clock=lambda: next(clock)))
    assert tries.read_text() == "x\n" * 3
