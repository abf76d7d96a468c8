"""What is made once: whole or not at all, by one process at a time, with room looked for first."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from fatwheel.building.cache import disk_errors, get_or_create, require_space
from fatwheel.caches import cache_root
from fatwheel.errors import BuildError, UsageError


def make(place, maker, needs=0):
    return get_or_create(place, maker, needs=needs, what="a thing", notify=lambda _: None)


def filled(temporary):
    (temporary / "file").write_text("whole")


def others(place):
    return [path.name for path in place.parent.iterdir() if not path.name.endswith(".lock")]


def test_the_cache_is_where_it_is_said_to_be_else_in_the_users_cache():
    assert cache_root({"FATWHEEL_CACHE": "/a/b", "XDG_CACHE_HOME": "/x"}) == Path("/a/b")
    assert cache_root({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/x/fatwheel")
    assert cache_root({"XDG_CACHE_HOME": "relative", "HOME": "/h"}) == Path("/h/.cache/fatwheel")


def test_what_is_there_is_not_made_again(tmp_path):
    place = tmp_path / "thing"
    made = []
    for _ in range(2):
        make(place, lambda temporary: (filled(temporary), made.append(1)))
    assert len(made) == 1
    assert (place / "file").read_text() == "whole"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, BuildError("no"), ValueError])
def test_what_is_interrupted_leaves_nothing(tmp_path, interruption):
    def broken(temporary):
        filled(temporary)
        raise interruption

    with pytest.raises(BaseException):  # noqa: B017  # each of them
        make(tmp_path / "thing", broken)
    assert others(tmp_path / "thing") == []


def test_what_a_killed_process_left_is_swept(tmp_path):
    (tmp_path / ".thing.making-dead").mkdir()
    make(tmp_path / "thing", filled)
    assert others(tmp_path / "thing") == ["thing"]


def test_two_processes_make_it_once(tmp_path):
    code = """
import sys, time
from pathlib import Path
from fatwheel.building.cache import get_or_create
place, log = Path(sys.argv[1]), Path(sys.argv[2])
def make(temporary):
    with log.open("a") as file: file.write("made\\n")
    time.sleep(0.5)
get_or_create(place, make, needs=0, what="it", notify=print)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "thing"), str(tmp_path / "log")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = "".join(process.communicate()[0] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert (tmp_path / "log").read_text() == "made\n"
    lock = tmp_path / ".thing.lock"
    assert said in ("", f"waiting for the lock of another fatwheel that creates thing: {lock}\n")


def test_room_is_looked_for_first(tmp_path):
    made = []
    with pytest.raises(BuildError, match=r"a thing needs 931322574.615 GiB, and .* are free") as caught:
        make(tmp_path / "deep" / "thing", made.append, needs=10**18)
    assert caught.value.exit_code == 4
    assert "FATWHEEL_CACHE" in str(caught.value.help)
    assert not made


def test_room_is_measured_where_a_folder_will_be(tmp_path):
    place = tmp_path / "not" / "yet" / "there"
    require_space(place, 1, "a thing")
    assert not place.parent.exists()
    with pytest.raises(BuildError, match="a thing needs"):
        require_space(place, 10**18, "a thing")


def test_a_full_disk_is_said_so_and_nothing_is_left(small_disk):
    with pytest.raises(BuildError, match="the disk is full") as caught:
        make(small_disk / "thing", lambda temporary: (temporary / "big").write_bytes(bytes(2 << 20)))
    assert str(small_disk) in str(caught.value.where)
    assert "FATWHEEL_CACHE" in str(caught.value.help)
    assert others(small_disk / "thing") == []


def test_a_disk_that_cannot_be_written_is_said_so(tmp_path):
    with pytest.raises(UsageError, match=r"cannot write: Read-only"), disk_errors(tmp_path):
        raise OSError(errno.EROFS, "Read-only file system", "/a")


def test_other_errors_of_the_system_pass(tmp_path):
    with pytest.raises(IsADirectoryError), disk_errors(tmp_path):
        tmp_path.read_bytes()
