"""`fatwheel build`: several cells, what is printed where, and the status at the end."""

import inspect
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import nox
import pytest

from fatwheel.__main__ import run
from tests.unit.building.samples import environment
from tests.unit.test_processes import gone

TEXT = """
version: "1.0"
axes: {{flavour: [good, bad, fine]}}
packages:
  - name: demo
    import: demo
    per: [flavour]
    local: "{{flavour}}"
    source: {{checkout: .}}
    build:
      kind: tree
      command: ["{{python}}", "make.py", "{{out}}", "{{flavour}}", "{{full_version}}"]
"""
MAKE = """
import pathlib, sys
out, flavour, version = sys.argv[1:]
print("working on", flavour)
if flavour == "bad":
    sys.exit("bad.cu: error")
place = pathlib.Path(out, "demo")
place.mkdir()
(place / "__init__.py").write_text(f"__version__ = {version!r}\\n")
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def fatwheel(tmp_path, cache, monkeypatch, capfd):
    """Run one command line in a project; status, standard output, standard error."""
    (tmp_path / "matrix.yaml").write_text(TEXT.replace("{{", "{").replace("}}", "}"))
    (tmp_path / "make.py").write_text(MAKE)
    (tmp_path / "LICENSE").write_text("free")
    monkeypatch.chdir(tmp_path)
    for name, value in environment(cache).items():
        monkeypatch.setenv(name, value)

    def call(*arguments):
        status = run(list(arguments))
        out, err = capfd.readouterr()
        return status, out, err

    return call


def test_one_cell(fatwheel, tmp_path):
    status, out, err = fatwheel("build", "flavourgood")
    assert status == 0
    assert out.splitlines()[-1] == "dist/demo-1.0+good-py3-none-any.whl"
    assert "working on good" in err
    assert "working on good" not in out
    assert sorted(path.name.partition("-py3")[2] for path in (tmp_path / "dist").iterdir()) == [
        "-none-any.whl",
        "-none-any.whl.build.json",
    ]


def test_a_cell_that_fails_does_not_keep_the_others_from_being_built(fatwheel, tmp_path):
    status, out, err = fatwheel("build", "flavour*", "-o", "wheels")
    assert status == 4
    assert out.splitlines()[-2:] == [f"wheels/demo-1.0+{name}-py3-none-any.whl" for name in ("good", "fine")]
    assert "1 of 3 cells failed:\n  flavourbad: the build command exited with code 1; its last lines:" in err
    assert "  | bad.cu: error" in err
    assert len(list((tmp_path / "wheels").glob("*.whl"))) == 2


def test_json_is_an_array_of_records_and_nothing_else(fatwheel):
    status, out, _ = fatwheel("build", "flavourgood", "--json")
    (record,) = json.loads(out)
    assert (status, record["wheel"], record["cell"]["id"]) == (0, "demo-1.0+good-py3-none-any.whl", "flavourgood")


def test_json_of_several_is_the_records_of_those_built(fatwheel):
    status, out, _ = fatwheel("build", "flavour*", "--json")
    assert status == 4
    assert [record["cell"]["id"] for record in json.loads(out)] == ["flavourgood", "flavourfine"]


def test_json_of_a_cell_that_fails_is_its_error(fatwheel):
    status, out, err = fatwheel("build", "flavourbad", "--json")
    assert (status, json.loads(out)["error"]["kind"]) == (4, "build-error")
    assert "full output:" in err


@pytest.mark.parametrize("text", ["flavourgod", "flavourgo*d?"])
def test_an_unknown_cell_names_what_was_meant(fatwheel, text):
    status, out, err = fatwheel("build", text)
    assert (status, out) == (2, "")
    assert f"'{text}' matches no cell" in err
    assert "flavourgood" in err


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--volume", "cuda", "invalid volume"),
        ("--image", "debian", "--image, --network and --volume need a container engine"),
        ("--silence", "90", "write it like 90 min, 6 h or 30 s"),
        ("--cache", "on", "choose one of: auto, off, read, write"),
        ("--engine", "dockr", "choose one of: host, docker, podman"),
        ("--toolchain", "conda", "choose one of: auto, system, pypi"),
        ("--modules", "rope", "cannot build a partial wheel"),
    ],
)
def test_options_that_cannot_be_used(fatwheel, option, value, said):
    status, out, err = fatwheel("build", "flavourgood", option, value)
    assert (status, out) == (2, "")
    assert said in err


def test_a_placeholder_of_a_size(fatwheel, tmp_path):
    status, out, _ = fatwheel("build", "flavourbad", "--fake-size", "70000")
    assert status == 0
    assert (tmp_path / out.splitlines()[-1]).stat().st_size == 70000


def test_cells_side_by_side_say_whose_line_it_is_and_the_end_lists_what_failed(fatwheel):
    status, out, err = fatwheel("build", "flavour*", "-o", "wheels", "-j", "2", "--silence", "10 min")
    assert status == 4
    assert out.splitlines()[-2:] == [f"wheels/demo-1.0+{name}-py3-none-any.whl" for name in ("good", "fine")]
    assert "[flavourgood] working on good\n" in err
    assert "[flavourbad] error: flavourbad: the build command exited with code 1" in err
    assert "1 of 3 cells failed:\n  flavourbad: the build command exited with code 1" in err


@pytest.mark.usefixtures("fatwheel")
def test_an_interrupt_ends_all_that_are_built_side_by_side(tmp_path):
    (tmp_path / "make.py").write_text(
        "import os, pathlib, sys, time\npathlib.Path(f'pid-{os.getpid()}').touch()\ntime.sleep(300)\n"
    )
    command = [sys.executable, "-m", "fatwheel", "build", "flavour*", "-j", "3"]
    root = str(Path(__file__).resolve().parents[3] / "pipeline")
    caller = subprocess.Popen(command, env=dict(os.environ) | {"PYTHONPATH": root}, stderr=subprocess.PIPE)
    for _ in range(600):
        if len(list(tmp_path.glob("pid-*"))) == 3:
            break
        time.sleep(0.05)
    caller.send_signal(signal.SIGINT)
    caller.communicate(timeout=60)
    assert caller.returncode == 130
    pids = [int(path.name[4:]) for path in tmp_path.glob("pid-*")]
    assert len(pids) == 3
    assert all(gone(pid) for pid in pids)
    assert not list((tmp_path / "dist").glob("*"))


def test_a_nightly_has_its_version_all_the_way_through_the_wheel(fatwheel, tmp_path):
    with open(tmp_path / "matrix.yaml", "a") as file:
        file.write('channels:\n  nightly: {tag: "nightly-{date}"}\n')
    status, out, _ = fatwheel("build", "flavourgood", "--channel", "nightly", "--date", "20261201", "--json")
    assert status == 0
    wheel = "demo-1.1.dev20261201+good-py3-none-any.whl"
    assert json.loads(out)[0]["wheel"] == wheel
    with zipfile.ZipFile(tmp_path / "dist" / wheel) as archive:
        info = "demo-1.1.dev20261201+good.dist-info"
        assert b"\nVersion: 1.1.dev20261201+good\n" in archive.read(f"{info}/METADATA")
        assert json.loads(archive.read(f"{info}/fatwheel.json"))["version"] == "1.1.dev20261201+good"
        assert archive.read("demo/__init__.py") == b"__version__ = '1.1.dev20261201+good'\n"


def test_the_step_summary_has_each_cell_and_what_failed(fatwheel, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    fatwheel("build", "flavour*")
    text = (tmp_path / "summary.md").read_text()
    assert "| flavourgood | `demo-1.0+good-py3-none-any.whl` |" in text
    assert "| flavourbad | failed: the build command exited with code 1" in text


@pytest.mark.usefixtures("fatwheel")
def test_nox_builds_cells_side_by_side_and_a_failing_one_does_not_stop_the_next(tmp_path):
    if "allow_parallel" not in inspect.signature(nox.session).parameters:
        pytest.skip("this nox runs sessions one by one")
    (tmp_path / "noxfile.py").write_text("from fatwheel.sessions import register\nregister('matrix.yaml')\n")
    root = str(Path(__file__).resolve().parents[3] / "pipeline")
    env = dict(os.environ) | {"PYTHONPATH": root}
    command = [sys.executable, "-m", "nox", "-s", "build", "-j", "2"]
    answer = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    said = answer.stdout + answer.stderr
    assert answer.returncode == 1
    assert "build(flavour=bad): failed" in said
    assert "build(flavour=fine): success" in said
    assert len(list((tmp_path / "dist").glob("*.whl"))) == 2
