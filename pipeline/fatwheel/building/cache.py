"""fatwheel's cache: what takes long to make is made once, completely or not at all, by one process at a time."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fatwheel.caches import SET_CACHE
from fatwheel.errors import BuildError, UsageError
from fatwheel.retry import Notify
from fatwheel.sizes import size
from fatwheel.system_errors import DENIED, FULL, working_folder_exists


def require_space(folder: Path, needed: int, what: str, help: str = SET_CACHE) -> None:
    """Raise `BuildError` unless ``needed`` bytes are free on the disk of ``folder``, which may not exist yet."""
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise BuildError(
            f"{what} needs {size(needed)}, and {size(free)} are free",
            where=str(existing),
            help=f"free disk space, or {help}",
        )


@contextmanager
def disk_errors(where: Path, help: str = SET_CACHE) -> Iterator[None]:
    """Turn the error of a full disk into a `BuildError`, of a read-only one into a `UsageError`; pass others on."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            advice = f"free disk space, or {help}"
            raise BuildError("the disk is full", where=str(error.filename or where), help=advice) from error
        if error.errno in DENIED:
            what = f"cannot write: {error.strerror}"
            raise UsageError(what, where=str(error.filename or where), help=help) from error
        raise


def make_folder(folder: Path, help: str = SET_CACHE) -> None:
    """Create a folder with its parents. Raises `UsageError` if that fails, and `BuildError` for a full disk."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        kind = BuildError if error.errno in FULL else UsageError
        raise kind(f"cannot create this folder: {error.strerror}", where=str(folder), help=help) from error


@contextmanager
def output_folder(folder: Path) -> Iterator[None]:
    """Create the folder that a user named for output; remove it again if nothing was written there.

    Raises `UsageError` if it cannot be created or written, and `BuildError` if its disk is full afterwards.
    """
    try:
        created = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        if error.errno in FULL:
            help = "free disk space, or choose another output folder"
            raise BuildError("the disk is full", where=str(folder), help=help) from error
        if not folder.is_absolute() and not working_folder_exists():
            raise UsageError("the working folder no longer exists", help="change to another folder") from error
        what, help = f"cannot write to the output folder: {error.strerror}", "choose another output folder"
        raise UsageError(what, where=str(folder), help=help) from error
    try:
        with disk_errors(folder, "choose another output folder"):
            yield
    finally:
        if created and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


@contextmanager
def locked(path: Path, notify: Notify) -> Iterator[None]:
    """Hold a lock between processes; report through ``notify`` when another process holds it."""
    make_folder(path.parent)
    with open(path, "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            notify(f"waiting for the lock of another fatwheel that creates {path.stem.lstrip('.')}: {path}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def get_or_create(place: Path, make: Callable[[Path], None], *, needs: int, what: str, notify: Notify) -> Path:
    """Return ``place``; if it is missing, call ``make`` with a temporary folder beside it, then rename that folder.

    ``needs`` is the disk space in bytes that ``make`` takes. An interrupted or failed ``make`` leaves nothing behind;
    the next call removes what a killed one left. Raises `BuildError` for a full disk, and `UsageError` for one that
    cannot be written.
    """
    if place.exists():
        return place
    with disk_errors(place.parent), locked(place.parent / f".{place.name}.lock", notify):
        if place.exists():
            return place
        for leftover in place.parent.glob(f".{place.name}.making-*"):
            shutil.rmtree(leftover)
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
