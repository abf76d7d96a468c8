"""The folder of one build: always the same path, so that compiler caches and outputs do not change."""

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
from fatwheel.errors import BuildError
from fatwheel.records.plan import Cell

ANOTHER_DISK = "set TMPDIR to a folder on another disk"


@dataclass(frozen=True)
class BuildDir:
    """The folder of one build, with everything that it writes; removed afterwards."""

    folder: Path

    @property
    def out(self) -> Path:
        """The output of the command."""
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
        """The state of the compiler cache's launcher."""
        return self.folder / "cache"

    @property
    def setuptools(self) -> Path:
        """Settings for setuptools (DIST_EXTRA_CONFIG), which make it compile in this folder.

        In the source folder, the build of the next cell would reuse the libraries of this one.
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
    """Yield an empty build folder with ``room`` bytes free on its disk; remove it at the end of the block.

    It is ``fatwheel-UID/CELL`` below TMPDIR, or has a random name while another build of the same cell runs. Raises
    `BuildError` for a disk that is full or cannot be written.
    """
    try:
        base = Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise BuildError("no folder for temporary files is writable", help="set TMPDIR to a writable folder") from error
    require_space(base, room, f"the build of {cell.id}", ANOTHER_DISK)
    with ExitStack() as stack:
        with disk_errors(base, ANOTHER_DISK):
            work = BuildDir(stack.enter_context(_claim_folder(base, cell.id)))
            stack.callback(shutil.rmtree, work.folder, ignore_errors=True)
            for inner in (work.out, work.temporary, work.home, work.state):
                inner.mkdir()
            work.setuptools.write_text(f"[build]\nbuild_base = {work.folder / 'build'}\n", encoding="utf-8")
        yield work


@contextmanager
def _claim_folder(base: Path, name: str) -> Iterator[Path]:
    own = base / f"fatwheel-{os.getuid()}"
    lock = own / f".{name}.lock"
    held = _try_lock(own, lock)
    if held is None:
        yield Path(tempfile.mkdtemp(prefix=f"fatwheel-{name}-", dir=base))
        return
    folder = own / name
    try:
        shutil.rmtree(folder, ignore_errors=True)  # left by a killed build
        folder.mkdir()
        yield folder
    finally:
        lock.unlink(missing_ok=True)
        os.close(held)
        with suppress(OSError):  # another build uses it
            own.rmdir()


def _try_lock(own: Path, lock: Path) -> int | None:
    """Return the lock's file descriptor; None if another build holds it, or the folder is not private to this user."""
    try:
        own.mkdir(mode=0o700, exist_ok=True)
        seen = own.lstat()
        if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid() or seen.st_mode & 0o022:
            return None  # in a shared folder, another user may have created it
        held = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:  # a finishing build has just removed the folder
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(held).st_ino == lock.stat().st_ino:  # else the finished build removed this file
            return held
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(held)
    return None
