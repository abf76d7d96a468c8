"""Putting an index in its place: whole folders at a time, so that a reader never meets half of one."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fatwheel.errors import UsageError
from fatwheel.records.base import write_atomically

PAGE = "index.html"
MARK = '<meta name="generator" content="fatwheel">'
"""In the page of every folder that fatwheel writes."""

_WORK = ".new-"
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


@contextmanager
def locked(output: Path) -> Iterator[None]:
    """Hold the index against other writers on this machine; waits for its turn. Raises `UsageError`."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        handle = os.open(output, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UsageError(f"no index can be written here: {error.strerror}", where=str(output)) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def replace_tree(output: Path, files: Mapping[str, bytes], without: Collection[str] = ()) -> list[str]:
    """Make ``output`` hold these files, by relative path; returns the trees and root files that changed, sorted.

    Files at the root that are named in ``without`` go.

    Only folders whose page has `MARK` are replaced or taken away. New trees come first, then the files at the root,
    and what is stale goes last. Raises `UsageError` where a folder that is not the index's own is in the way.
    """
    trees: dict[str, dict[str, bytes]] = {}
    for path, data in sorted(files.items()):
        top, _, rest = path.partition("/")
        if rest:
            trees.setdefault(top, {})[rest] = data
    for left in output.glob(f"{_WORK}*"):  # of a run that was killed
        shutil.rmtree(left)
    own = {place.name for place in output.iterdir() if _is_own(place)}
    foreign = [name for name in trees if name not in own and (output / name).exists()]
    if foreign:
        raise UsageError(
            f"{', '.join(foreign)}: there already, and not written by fatwheel", where=str(output),
            help="give another folder with -o, or move it away",
        )  # fmt: skip
    changed = [name for name, tree in trees.items() if _differs(output / name, tree)]
    with tempfile.TemporaryDirectory(dir=output, prefix=_WORK) as work:
        for name in changed:
            _write_tree(Path(work) / name, trees[name])
        for name in changed:
            _exchange(Path(work) / name, output / name)
        for path in sorted(path for path in files if "/" not in path):
            if not (output / path).is_file() or (output / path).read_bytes() != files[path]:
                write_atomically(output / path, files[path])
                changed.append(path)
        for name in sorted(own - set(trees)):
            (output / name).rename(Path(work) / name)
            changed.append(name)
        for path in sorted(without):
            if (output / path).is_file():
                (output / path).unlink()
                changed.append(path)
    return sorted(changed)


def _is_own(place: Path) -> bool:
    page = place / PAGE
    return place.is_dir() and not place.is_symlink() and page.is_file() and MARK.encode() in page.read_bytes()[:1024]


def _differs(place: Path, tree: Mapping[str, bytes]) -> bool:
    there = {os.path.relpath(f"{folder}/{name}", place) for folder, _, names in os.walk(place) for name in names}
    return there != set(tree) or any((place / path).read_bytes() != data for path, data in tree.items())


def _write_tree(place: Path, tree: Mapping[str, bytes]) -> None:
    for path, data in tree.items():
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def _exchange(new: Path, place: Path) -> None:
    """Put ``new`` where ``place`` is, in one step where the file system can; what was there ends in ``new``."""
    if not place.exists():
        new.rename(place)
        return
    exchange = getattr(ctypes.CDLL(None), "renameat2", None)  # glibc 2.28
    if exchange and not exchange(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(place), _RENAME_EXCHANGE):
        return
    aside = new.with_name(f"{new.name}.old")
    place.rename(aside)
    new.rename(place)
    shutil.rmtree(aside)
