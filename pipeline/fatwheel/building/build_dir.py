"""The folder of one build: the same path each time, so that compiler caches and outputs do not see another one."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from fatwheel.building.cache import disk_errors, require_space
from fatwheel.records.plan import Cell

ANOTHER_DISK = "set TMPDIR to a folder on another disk"


@dataclass(frozen=True)
class BuildDir:
    """What a build leaves behind, all below one folder that goes with it."""

    folder: Path

    @property
    def out(self) -> Path:
        """What the command makes."""
        return self.folder / "out"

    @property
    def temporary(self) -> Path:
        """TMPDIR of the command."""
        return self.folder / "tmp"

    @property
    def home(self) -> Path:
        """HOME in a container."""
        return self.folder / "home"

    @property
    def state(self) -> Path:
        """What the compiler cache's launcher writes."""
        return self.folder / "cache"

    @property
    def setuptools(self) -> Path:
        """Settings for setuptools (DIST_EXTRA_CONFIG): what it compiles goes here, and not into the sources.

        There the next cell's build would take the libraries of this one for its own.
        """
        return self.folder / "setuptools.cfg"

    @property
    def report(self) -> Path:
        """{report}."""
        return self.folder / "report.json"

    @property
    def log(self) -> Path:
        """All output of the command."""
        return self.folder / "build.log"


@contextmanager
def build_dir(cell: Cell, room: int) -> Iterator[BuildDir]:
    """An empty workplace with ``room`` bytes free, removed however the block ends.

    It is ``fatwheel-UID/CELL`` below the folder for temporary files, or, while another build of such a cell is in
    there, one of another name. Raises `BuildError` for a disk that is full or cannot be written.
    """
    base = Path(tempfile.gettempdir())
    require_space(base, room, f"the build of {cell.id}", ANOTHER_DISK)
    with ExitStack() as stack:
        with disk_errors(base, ANOTHER_DISK):
            work = BuildDir(stack.enter_context(_place(base, cell.id)))
            stack.callback(shutil.rmtree, work.folder, ignore_errors=True)
            for inner in (work.out, work.temporary, work.home, work.state):
                inner.mkdir()
            work.setuptools.write_text(f"[build]\nbuild_base = {work.folder / 'build'}\n", encoding="utf-8")
        yield work


@contextmanager
def _place(base: Path, name: str) -> Iterator[Path]:
    own = base / f"fatwheel-{os.getuid()}"
    lock = own / f".{name}.lock"
    held = _locked(own, lock)
    if held is None:
        yield Path(tempfile.mkdtemp(prefix=f"fatwheel-{name}-", dir=base))
        return
    folder = own / name
    try:
        shutil.rmtree(folder, ignore_errors=True)  # what a killed build left
        folder.mkdir()
        yield folder
    finally:
        lock.unlink(missing_ok=True)
        os.close(held)
        with suppress(OSError):  # another build is in there
            own.rmdir()


def _locked(own: Path, lock: Path) -> int | None:
    """The lock's open file; None if another build has it, or the folder is not this user's alone."""
    try:
        own.mkdir(mode=0o700, exist_ok=True)
        seen = own.lstat()
        if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid() or seen.st_mode & 0o022:
            return None  # where temporary files are everybody's, anybody may have made it
        held = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:  # a build that ended just now removed the folder
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(held).st_ino == lock.stat().st_ino:  # else that build removed this file
            return held
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(held)
    return None
