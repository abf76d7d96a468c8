"""An index whose writer is killed at each step: no page leads to what is not there, and the next run mends all."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fatwheel.records.index import Index
from tests.unit.index.assets import Shelf

pytestmark = pytest.mark.integration

# Every change of what a reader sees goes through one of these.
KILLED = """
import os, pathlib, signal, sys
from fatwheel.index import atomic_write, make_index
from fatwheel.stores import open_store
left = int(sys.argv[3])

def counted(real):
    def call(*arguments, **more):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*arguments, **more)
    return call

atomic_write._exchange = counted(atomic_write._exchange)
atomic_write.write_atomically = counted(atomic_write.write_atomically)
atomic_write._write_tree = counted(atomic_write._write_tree)
for name in ("rename", "replace", "unlink"):
    setattr(pathlib.Path, name, counted(getattr(pathlib.Path, name)))
make_index(open_store("dir:" + sys.argv[1]), pathlib.Path(sys.argv[2]))
print("finished")
"""


def sound(shelf: Shelf, but: Path | None = None) -> None:
    """Every link of every page leads to a file with the hash that it says, and index.json can be read.

    ``but``: a file that the store lost before the index was told; its page goes last.
    """
    for page in shelf.out.rglob("index.html"):
        folder = page.parent.relative_to(shelf.out)
        if any(part.startswith(".new-") for part in folder.parts):
            continue
        for anchor in shelf.links(str(folder)):
            if "#sha256=" in anchor.href:
                target = shelf.target(str(folder), anchor)
                if target == but:
                    continue
                assert hashlib.sha256(target.read_bytes()).hexdigest() == anchor.href.rpartition("=")[2]
            elif anchor.href.endswith("/"):
                assert (page.parent / anchor.href / "index.html").is_file()
    if (shelf.out / "index.json").is_file():
        Index.read(shelf.out / "index.json")


def test_a_writer_that_is_killed_leaves_nothing_that_leads_nowhere(tmp_path):
    shelf = Shelf(tmp_path)
    for label in ("cu129", "cu130.sm9x", "cu130.sm12x"):
        shelf.wheel(f"1.0+{label}")
    gone = shelf.wheel("1.0+cu126", "v0")
    shelf.index()
    gone.unlink()
    for label in ("cu129", "cu130.sm9x", "cu134.sm9x"):
        shelf.wheel(f"1.1+{label}", "v2")
    kills = 0
    for step in range(40):
        command = [sys.executable, "-c", KILLED, str(shelf.store), str(shelf.out), str(step)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
        if answer.returncode == 0:
            break
        assert answer.returncode == -signal.SIGKILL, answer.stderr
        kills += 1
        sound(shelf, but=gone)
    assert kills >= 5
    assert not list(shelf.out.glob(".new-*"))
    sound(shelf)
    fresh = Shelf(tmp_path)
    fresh.index(out=tmp_path / "fresh")
    assert {p.relative_to(shelf.out): p.read_bytes() for p in shelf.out.rglob("*") if p.is_file()} == {
        p.relative_to(tmp_path / "fresh"): p.read_bytes() for p in (tmp_path / "fresh").rglob("*") if p.is_file()
    }
