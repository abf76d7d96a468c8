"""fatwheel's own cache: what takes long is made once, whole or not at all, by one process at a time."""

from __future__ import annotations

import errno
import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fatwheel.errors import BuildError

Notify = Callable[[str], None]

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_CLOSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_ELSEWHERE = "set FATWHEEL_CACHE to a folder on another disk"


def cache_root(environ: Mapping[str, str]) -> Path:
    """``$FATWHEEL_CACHE``, else ``fatwheel`` in the user's cache folder."""
    own = environ.get("FATWHEEL_CACHE")
    if own:
        return Path(own).absolute()
    base = Path(environ.get("XDG_CACHE_HOME", ""))
    home = Path(environ.get("HOME") or Path.home())
    return (base if base.is_absolute() else home / ".cache") / "fatwheel"


def require_space(folder: Path, needed: int, what: str, help: str = _ELSEWHERE) -> None:
    """Raise `BuildError` unless ``needed`` bytes are free where ``folder`` is, or will be."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(there).free
    if free < needed:
        raise BuildError(
            f"{what} needs {needed / 1e6:.0f} MB, and {free / 1e6:.0f} MB are free",
            where=str(there),
            help=f"free some space, or {help}",
        )


@contextmanager
def disk_errors(where: Path, help: str = _ELSEWHERE) -> Iterator[None]:
    """A full or read-only disk becomes a `BuildError`; other errors pass."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            what, todo = "the disk is full", f"free some space, or {help}"
        elif error.errno in _CLOSED:
            what, todo = f"this cannot be written: {error.strerror}", help
        else:
            raise
        raise BuildError(what, where=str(error.filename or where), help=todo) from error


@contextmanager
def locked(path: Path, notify: Notify) -> Iterator[None]:
    """Hold a lock between processes; ``notify`` says so when another one has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            notify(f"waiting for another fatwheel, which is making {path.stem.lstrip('.')}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def get_or_create(place: Path, make: Callable[[Path], None], *, needs: int, what: str, notify: Notify) -> Path:
    """``place``, made by ``make`` under a temporary name beside it unless it is there.

    ``needs`` is the room in bytes that making it takes. An interrupted or failed ``make`` leaves nothing; what a killed
    one left is swept by the next. Raises `BuildError` for a disk that is full or cannot be written.
    """
    if place.exists():
        return place
    with disk_errors(place.parent), locked(place.parent / f".{place.name}.lock", notify):
        if place.exists():
            return place
        for left in place.parent.glob(f".{place.name}.making-*"):
            shutil.rmtree(left)
        require_space(place.parent, needs, what)
        temporary = Path(tempfile.mkdtemp(prefix=f".{place.name}.making-", dir=place.parent))
        try:
            temporary.chmod(0o755)
            make(temporary)
            temporary.replace(place)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return place
