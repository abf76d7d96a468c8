"""A build that says nothing for too long, or takes too long, is ended with a look at what it did."""

import io
import os
import re
import sys
from pathlib import Path

import pytest

from fatwheel.__main__ import run
from fatwheel.building.build_cell import build_cell
from fatwheel.building.engine import HOST
from fatwheel.building.process_tree import memory, tree
from fatwheel.building.watchdog import Limits, Watchdog
from fatwheel.errors import BuildTimeout
from tests.unit.building.samples import environment, pure


def watch(tmp_path, limits, **about):
    said = []
    found = Watchdog(
        limits, io.BytesIO(), tmp_path / "kept" / "diagnostics.txt", (tmp_path,), show=said.append, **about
    )
    found.start()
    return found, said


def test_output_goes_on_and_into_the_log(tmp_path):
    dog, said = watch(tmp_path, Limits())
    dog.sink(b"one\ntwo")
    assert (said, dog.log.getvalue()) == ([b"one\ntwo"], b"one\ntwo")


def test_output_holds_off_the_limit_of_silence_but_not_the_total(tmp_path):
    now = [0.0]
    dog, _ = watch(tmp_path, Limits(silence=60, total=100), clock=lambda: now[0])
    for now[0] in (50.0, 99.0):
        dog.tick(0)
        dog.sink(b"still here\n")
    now[0] = 101.0
    with pytest.raises(BuildTimeout, match=r"build killed: it ran for 101 s") as caught:
        dog.tick(0)
    assert "--time-limit" in str(caught.value.help)


def test_the_diagnostics_show_processes_memory_disks_cache_and_last_words(tmp_path):
    dog, _ = watch(tmp_path, Limits(silence=1.0), cache_state=lambda: "hits: 3")

    def end():
        HOST.run(
            ["sh", "-c", "echo ptxas: rope.cu; sleep 302"], env=os.environ, cwd=tmp_path, sink=dog.sink, tick=dog.tick
        )

    with pytest.raises(
        BuildTimeout, match=r"build killed: no output for \d s; running at the time: 2 processes"
    ) as caught:
        end()
    assert caught.value.exit_code == 124
    text = (tmp_path / "kept" / "diagnostics.txt").read_text()
    assert re.search(r"^ *\d+ +\d+ S .* sleep 302$", text, re.MULTILINE)
    for part in (
        "== memory ==\npeak of the build: ",
        "MemTotal",
        "== disks ==",
        "iB free",
        "hits: 3",
        "ptxas: rope.cu",
    ):
        assert part in text
    assert dog.peak > 100_000


def test_diagnostics_that_cannot_be_written_do_not_hide_the_timeout(tmp_path):
    (tmp_path / "kept").touch()
    now = [0.0]
    dog, _ = watch(tmp_path, Limits(silence=1), clock=lambda: now[0])
    now[0] = 5.0
    with pytest.raises(BuildTimeout) as caught:
        dog.tick(0)
    assert "not written" in str(caught.value.help)


def test_daemons_of_a_build_are_found_by_their_mark(tmp_path):
    script = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(0.2)\n"
    code = script + "    os._exit(0)\nos.wait()\nopen('ready', 'w').close()\ntime.sleep(60)"
    mark = f"FATWHEEL_TEST={tmp_path}"
    seen = {}

    class Enough(Exception):
        pass

    def tick(root):
        if (tmp_path / "ready").exists():
            seen["tree"], seen["marked"] = tree(root), tree(root, mark)
            raise Enough

    env = dict(os.environ) | {"FATWHEEL_TEST": str(tmp_path)}
    daemon = code.replace("time.sleep(0.2)", "time.sleep(30)")
    with pytest.raises(Enough):
        HOST.run([sys.executable, "-c", daemon], env=env, cwd=tmp_path, sink=lambda _: None, tick=tick)
    gone = {one.pid for one in seen["marked"]} - {one.pid for one in seen["tree"]}
    assert len(gone) == 1
    assert memory(seen["marked"]) > memory(seen["tree"]) > 0
    os.kill(gone.pop(), 9)


def test_the_command_ends_with_status_124_and_leaves_no_wheel(tmp_path, monkeypatch, capfd):
    pure(tmp_path / "project", "import time\nprint('compiling', flush=True)\ntime.sleep(300)")
    for name, value in environment(tmp_path / "cache").items():
        monkeypatch.setenv(name, value)
    status = run(["build", "demo", "--matrix", str(tmp_path / "project" / "matrix.yaml"), "-o", str(tmp_path / "dist"),
                  "--silence", "1 s"])  # fmt: skip
    err = capfd.readouterr().err
    assert status == 124
    assert "raise --silence" in err
    where = Path(re.search(r"diagnostics: ([^;]+);", err)[1])
    assert "compiling" in where.read_text()
    assert not (tmp_path / "dist").exists()


def test_a_declared_limit_counts(tmp_path):
    more = "]\n      time_limit: 1 s\n      requires: ["
    declaration, planned = pure(tmp_path / "project", "import time\ntime.sleep(300)", more=more)
    environ = environment(tmp_path / "cache")
    with pytest.raises(BuildTimeout, match="it ran for"):
        build_cell(declaration, planned, tmp_path / "dist", environ=environ, notify=lambda _: None)
