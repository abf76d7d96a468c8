"""Builds in real podman containers: what comes out, whose it is, and that nothing stays behind."""

import os
import platform
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from fatwheel.building.build_cell import build_cell, can_build
from fatwheel.building.engine import EngineOptions
from fatwheel.building.job import BuildOverrides
from fatwheel.declaration import load
from fatwheel.errors import BuildError, BuildTimeout
from fatwheel.plan import find_cell
from tests.integration.containers import IMAGE, NoPodman, settings, volumes
from tests.unit.building.samples import GOOD_TREE, environment, pure

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("podman")]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "minikernels" / "matrix.yaml"
PODMAN = EngineOptions("podman", image=IMAGE, network="host", volumes=volumes())


@pytest.fixture(scope="module")
def environ(tmp_path_factory):
    folder = tmp_path_factory.mktemp("podman")
    try:
        own = settings(folder)
    except NoPodman as reason:
        pytest.skip(str(reason))
    return environment(folder / "cache", **own)


def left(environ):
    """Containers that are still there."""
    answer = subprocess.run(
        ["podman", "ps", "--all", "--quiet"], env=environ, capture_output=True, text=True, check=True
    )
    return answer.stdout.split()


def members(wheel):
    """What is in a wheel, but for the stamp with the commit that was built, and the RECORD of that."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith(("fatwheel.json", "RECORD"))]
        return {name: archive.read(name) for name in names}


def test_a_cell_comes_out_of_a_container_as_it_does_of_the_host(tmp_path, environ):
    declaration = load(EXAMPLE)
    wanted = find_cell(declaration, f"cu130-{platform.machine()}-sm12x")
    reason = can_build(declaration, wanted, toolchain="system")
    if reason:
        pytest.skip(reason)
    made = {
        name: build_cell(declaration, wanted, tmp_path / name, engine=engine, toolchain="system", modules=["softmax"],
                         environ=environ, tuning=BuildOverrides(cache="off"))
        for name, engine in (("inside", PODMAN), ("outside", "host"))
    }  # fmt: skip
    inside = made["inside"]
    assert (inside.engine, inside.image.name) == ("podman", IMAGE)
    assert inside.image.digest.startswith("sha256:")
    assert inside.peak_memory > 10_000_000  # compilers in the container are seen
    assert inside.modules[0].targets == made["outside"].modules[0].targets
    contents = {name: members(tmp_path / name / record.wheel) for name, record in made.items()}
    assert contents["inside"] == contents["outside"]
    assert {path.stat().st_uid for path in (tmp_path / "inside").iterdir()} == {os.getuid()}
    assert left(environ) == []


def inside(tmp_path, environ, script, **about):
    declaration, planned = pure(tmp_path / "project", script)
    return build_cell(
        declaration, planned, tmp_path / "dist", engine=PODMAN, environ=environ, notify=lambda _: None, **about
    )


def test_what_a_command_is_told_and_makes(tmp_path, environ):
    script = (
        GOOD_TREE
        + """
import os
(place / "env.txt").write_text(repr(sorted(os.environ)) + str(os.getuid()) + os.environ["HOME"])
pathlib.Path("made-in-the-checkout").touch()
"""
    )
    record = inside(tmp_path, environ | {"MY_TOKEN": "secret", "HTTPS_PROXY": "http://p"}, script)
    with zipfile.ZipFile(tmp_path / "dist" / record.wheel) as archive:
        told = archive.read("demo/env.txt").decode()
    assert "HTTPS_PROXY" in told
    assert "TOKEN" not in told
    assert f"]{os.getuid()}" in told
    assert (tmp_path / "project" / "made-in-the-checkout").stat().st_uid == os.getuid()


def test_a_command_that_fails_in_there_shows_its_words(tmp_path, environ):
    with pytest.raises(BuildError, match=r"exited with code 3; its last lines:\n  \| no such kernel"):
        inside(tmp_path, environ, "print('no such kernel')\nsys.exit(3)")
    assert left(environ) == []


def test_a_command_that_is_killed_in_there_says_so(tmp_path, environ):
    with pytest.raises(BuildError, match="was killed by SIGKILL"):
        inside(tmp_path, environ, "import os\nos.kill(os.getpid(), 9)")


def test_silence_in_there_is_ended_with_a_look_at_its_processes(tmp_path, environ):
    script = "import subprocess\nprint('linking', flush=True)\nsubprocess.run(['sleep', '301'])"
    with pytest.raises(BuildTimeout, match="no output for") as caught:
        inside(tmp_path, environ, script, tuning=BuildOverrides(silence=2.0))
    diagnostics = Path(str(caught.value.help).partition("diagnostics: ")[2].partition(";")[0]).read_text()
    assert "sleep 301" in diagnostics
    assert "linking" in diagnostics
    assert left(environ) == []


def test_an_image_that_is_not_declared(tmp_path, environ):
    declaration, planned = pure(tmp_path / "project", GOOD_TREE)
    with pytest.raises(BuildError, match="no container image declared for podman"):
        build_cell(declaration, planned, tmp_path / "dist", engine="podman", environ=environ)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_stays_when_fatwheel_is_ended(tmp_path, environ, number):
    pure(
        tmp_path / "project",
        f"import time\npathlib.Path({str(tmp_path)!r}, 'project', 'ready').touch()\ntime.sleep(300)",
    )
    command = [sys.executable, "-m", "fatwheel", "build", "demo", "--matrix", str(tmp_path / "project" / "matrix.yaml"),
               "-o", str(tmp_path / "dist"), "--engine", "podman", "--image", IMAGE, "--network", "host"]  # fmt: skip
    for volume in volumes():
        command += ["--volume", volume]
    caller = subprocess.Popen(command, env=environ | {"TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE)
    for _ in range(600):
        if (tmp_path / "project" / "ready").exists():
            break
        time.sleep(0.05)
    assert len(left(environ)) == 1
    caller.send_signal(number)
    caller.communicate(timeout=60)
    assert caller.returncode == (-9 if number == signal.SIGKILL else 130)
    for _ in range(200):
        if not left(environ):
            break
        time.sleep(0.1)
    assert left(environ) == []
    assert number == signal.SIGKILL or not list(tmp_path.glob("fatwheel-*"))
