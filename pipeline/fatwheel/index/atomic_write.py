"""Write an index atomically, whole folders at a time, so that readers never see half a folder."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fatwheel.atomic import write_atomically
from fatwheel.errors import UsageError

PAGE = "index.html"
INDEX = "index.json"
MARK = '<meta name="generator" content="fatwheel">'
"""The tag by which fatwheel recognizes the folders it wrote; in the page of each."""

_WORK = ".new-"
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h


@contextmanager
def lock_output(output: Path) -> Iterator[None]:
    """Lock the index folder against other writers on this machine, and wait for the lock. Raises `UsageError`."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        handle = os.open(output, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise UsageError(f"cannot write the index: {error.strerror}", where=str(output)) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def check_output(output: Path) -> None:
    """Raise `UsageError` if a folder contains files but no index that fatwheel wrote. Hidden files are ignored."""
    files = [file for file in output.iterdir() if not file.name.startswith(".")]
    if files and not any(file.name == INDEX or _is_written_by_fatwheel(file) for file in files):
        raise UsageError(
            "the output folder is not empty and contains no index", where=str(output),
            help="choose an empty folder, or one that `fatwheel index` wrote",
        )  # fmt: skip


def replace_tree(output: Path, files: Mapping[str, bytes], without: Collection[str] = ()) -> list[str]:
    """Make ``output`` contain these files, by relative path; returns the changed trees and root files, sorted.

    ``without`` names files to delete at the root. Only folders whose page contains `MARK` are replaced or deleted. New
    trees are written first, then the files at the root; stale trees are deleted last. Raises `UsageError` if a folder
    that fatwheel did not write has the name of a new tree.
    """
    trees: dict[str, dict[str, bytes]] = {}
    for path, data in sorted(files.items()):
        top, _, rest = path.partition("/")
        if rest:
            trees.setdefault(top, {})[rest] = data
    for leftover in output.glob(f"{_WORK}*"):  # left over from a killed run
        shutil.rmtree(leftover)
    own = {place.name for place in output.iterdir() if _is_written_by_fatwheel(place)}
    foreign = [name for name in trees if name not in own and (output / name).exists()]
    if foreign:
        raise UsageError(
            f"fatwheel did not write the existing {', '.join(foreign)}", where=str(output),
            help="choose another output folder, or move the existing files",
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


def _is_written_by_fatwheel(folder: Path) -> bool:
    page = folder / PAGE
    return folder.is_dir() and not folder.is_symlink() and page.is_file() and MARK.encode() in page.read_bytes()[:1024]


def _differs(folder: Path, tree: Mapping[str, bytes]) -> bool:
    found = {os.path.relpath(f"{root}/{name}", folder) for root, _, names in os.walk(folder) for name in names}
    return found != set(tree) or any((folder / path).read_bytes() != data for path, data in tree.items())


def _write_tree(folder: Path, tree: Mapping[str, bytes]) -> None:
    for path, data in tree.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def _exchange(new: Path, old: Path) -> None:
    """Swap two folders, atomically if the file system supports it; without ``old``, only move ``new`` there."""
    if not old.exists():
        new.rename(old)
        return
    exchange = getattr(ctypes.CDLL(None), "renameat2", None)  # glibc 2.28
    if exchange and not exchange(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE):
        return
    aside = new.with_name(f"{new.name}.old")
    old.rename(aside)
    new.rename(old)
    shutil.rmtree(aside)
