"""Commands and sessions in a project whose root has modules with the names of fatwheel's and Python's own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.building.samples import environment

pytestmark = pytest.mark.integration

MATRIX = """
version: "1.0"
axes: {flavor: [one, two]}
packages:
  - name: demo
    import: demo
    per: [flavor]
    local: "{flavor}"
    tag: py3-none
    source: {checkout: .}
    build:
      kind: tree
      command: ["{python}", "make.py", "{out}", "{full_version}"]
      requires: []
    smoke: {command: ["{python}", "-c", "import demo"]}
"""
MAKE = """
import pathlib, sys
place = pathlib.Path(sys.argv[1], "demo")
place.mkdir()
(place / "__init__.py").write_text(f"__version__ = {sys.argv[2]!r}\\n")
"""
# Everything that a child process of fatwheel imports, and what this project may have of its own.
SHADOWS = ("pipeline", "fatwheel", "nox", "pip", "venv", "ensurepip", "json", "platform", "click", "yaml", "pydantic")
NOXFILE = "from fatwheel.sessions import register\nregister('matrix.yaml')\n"


@pytest.fixture
def project(tmp_path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "matrix.yaml").write_text(MATRIX)
    (root / "make.py").write_text(MAKE)
    (root / "noxfile.py").write_text(NOXFILE)
    (root / "LICENSE").write_text("free")
    hijack = f"import pathlib\npathlib.Path({str(tmp_path / 'hijacked')!r}).touch()\nraise SystemExit('hijacked')\n"
    for name in SHADOWS:
        (root / f"{name}.py").write_text(hijack)
    (root / "pipeline").mkdir()
    (root / "pipeline" / "__init__.py").write_text(hijack)
    return root


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def call(project, cache, program, *arguments, **variables):
    """Run a console script of this environment in the project; its exit code and both outputs."""
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    env = environment(cache) | {"NOX_DEFAULT_VENV_BACKEND": "none", **variables}
    env.setdefault("PATH", os.environ["PATH"])
    answer = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert not (project.parent / "hijacked").exists(), answer.stdout + answer.stderr
    assert "hijacked" not in answer.stdout + answer.stderr
    return answer.returncode, answer.stdout, answer.stderr


def wheels(folder):
    return sorted(path.name for path in folder.glob("*.whl"))


BOTH = ["demo-1.0+one-py3-none-any.whl", "demo-1.0+two-py3-none-any.whl"]


def test_a_nox_session_builds_the_wheel(project, cache):
    if not Path(sys.executable).with_name("nox").exists():
        pytest.skip("no nox script in this environment")
    status, out, err = call(project, cache, "nox", "-s", "build(flavor=one)")
    assert status == 0, out + err
    assert wheels(project / "dist") == BOTH[:1]


def test_parallel_builds_and_smoke_tests(project, cache):
    status, out, err = call(project, cache, "fatwheel", "build", "*", "-j", "2", "--json")
    assert status == 0, err
    assert [record["wheel"] for record in json.loads(out)] == BOTH
    assert wheels(project / "dist") == BOTH
    status, out, err = call(project, cache, "fatwheel", "smoke", f"dist/{BOTH[0]}")
    assert status == 0, err
    assert "import: passed" in out


@pytest.mark.parametrize("entry", ["", "."])
def test_entries_of_pythonpath_that_mean_the_working_folder_do_not_reach_children(project, cache, monkeypatch, entry):
    """This process runs outside the project: with such an entry, the command itself would be hijacked."""
    from fatwheel.pythons import own_command

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([entry, str(cache)]))
    monkeypatch.chdir(project)
    command, variables = own_command("plan", "--json")
    answer = subprocess.run(command, env=environment(cache) | variables, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert not (project.parent / "hijacked").exists()
    assert variables["PYTHONPATH"].split(os.pathsep)[1:] == [str(cache)]


def test_a_rehearsal_with_an_installation(project, cache):
    status, out, err = call(project, cache, "fatwheel", "rehearse", "--only", "flavortwo", "--json")
    assert status == 0, out + err
    cells = json.loads(out)["cells"]
    assert [(row["build"], row["smoke"], row["install"]) for row in cells] == [("done", "import", "done")]


def test_a_rehearsal_with_placeholders(project, cache):
    status, out, err = call(
        project, cache, "fatwheel", "rehearse", "--fake-build", "--only", "flavortwo", "-o", "quick", "--json"
    )
    assert status == 0, out + err
    assert json.loads(out)["cells"][0]["install"] == "done"


def test_doctor_inspects_the_machine(project, cache):
    status, out, err = call(project, cache, "fatwheel", "doctor", "--json")
    assert status == 0, err
    assert {cell["reason"] for cell in json.loads(out)["cells"]} == {None}
    assert shutil.which("git") is None or "git" in out
