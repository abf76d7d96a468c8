"""A build command that failed: what it said last, why it may have failed, and where all of its output is kept."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fatwheel.building.cache import cache_root
from fatwheel.errors import BuildError
from fatwheel.processes import ended
from fatwheel.records.plan import Cell

LAST_LINES = 20  # of the output that the error repeats
_WIDTH = 400  # characters of a line; a compiler's command line may have thousands
_MEMORY = "memory ran out: build with fewer jobs"
# What the output may say of a cause that is not in the code.
_CAUSES: tuple[tuple[str, str], ...] = (
    (r"No space left on device|Disk quota exceeded", "the disk is full: free some space, or set TMPDIR"),
    (r"Killed signal terminated program|out of memory|Cannot allocate memory|bad_alloc", _MEMORY),
    (r"' cannot be started: ", "check the first word of the package's command"),
    (r"cannot find -lcuda\b", "the linker found no libcuda.so: link with the toolkit's lib64/stubs"),
)


def command_failed(cell: Cell, status: int, log: Path, environ: Mapping[str, str]) -> BuildError:
    """The error for a command that ended with ``status`` (negative: by that signal); keeps its output."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    where = kept(log, environ, name=f"{cell.wheel}.build.log")
    lines = [line.rstrip() for line in text.splitlines() if line.strip()][-LAST_LINES:]
    last = "".join(f"\n  | {line[:_WIDTH]}" for line in lines) or "\n  | (it printed nothing)"
    advice = next((help for pattern, help in _CAUSES if re.search(pattern, text)), None)
    if advice is None and status == -signal.SIGKILL:
        advice = _MEMORY.replace("ran", "may have run")
    return BuildError(
        f"the build command {ended(status)}; its last lines:{last}",
        where=cell.id,
        help=f"{advice}; all of its output: {where}" if advice else f"see all of its output: {where}",
    )


@contextmanager
def output_kept(log: Path, cell: Cell, environ: Mapping[str, str]) -> Iterator[None]:
    """Keep the output of a command that ended well, where what it left is of no use."""
    try:
        yield
    except BuildError as error:
        where = kept(log, environ, name=f"{cell.wheel}.build.log")
        help = f"{error.help}; the output of the command: {where}"
        raise BuildError(error.what, where=error.where, help=help) from error


def kept(file: Path, environ: Mapping[str, str], *, name: str) -> str:
    """Move a file to fatwheel's cache, in the place of that of an earlier failure, and say where it is.

    What keeps it from being kept is said instead: it must not hide the failure that the file is of.
    """
    folder = cache_root(environ) / "failed"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return str(shutil.move(file, folder / name))
    except OSError as error:
        return f"it could not be kept in {folder} ({error.strerror or error})"
