"""Errors of a failed build command: the compiler's own message first, then the last output, then where the log is."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fatwheel.caches import cache_root
from fatwheel.errors import BuildError
from fatwheel.processes import describe_exit
from fatwheel.records.plan import Cell
from fatwheel.secret_names import redact

LAST_LINES = 20  # of the output that the error repeats
_WIDTH = 400  # characters of a line; a compiler's command line may have thousands
_MEMORY = "out of memory: use fewer jobs (--jobs)"
# Causes outside the code, by what the output contains.
_CAUSES: tuple[tuple[str, str], ...] = (
    (r"No space left on device|Disk quota exceeded", "the disk is full: free disk space, or set TMPDIR"),
    (r"Killed signal terminated program|out of memory|Cannot allocate memory|bad_alloc", _MEMORY),
    (r"(?m)^cannot start '", "check the first word of the package's command"),
    (r"cannot find -lcuda\b", "the linker did not find libcuda.so: link with the toolkit's lib64/stubs"),
)
# First lines of error messages, by program. The linker's summary (collect2, ld returned 1) and those of ninja, make and
# setuptools only report that another program failed.
_DIAGNOSTIC = re.compile(
    r"""
    (?:nvcc|ptxas|fatbinary|nvlink|cicc|cudafe\+\+|bin2c)\ +(?:fatal|error)\ *:\ .+  # nvcc fatal   : Unsupported ...
    | ptxas\ .+;\ (?:fatal|error)\ *:\ .+                       # ptxas a.ptx, line 5; error   : ...
    | \S.*\(\d+\):\ (?:catastrophic\ |fatal\ )?error\b.*:\ .+   # a.cu(12): error: identifier "x" is undefined
    | \S.*:\d+(?::\d+)?:\ (?:fatal\ )?error:\ .+                # a.cpp:3:10: fatal error: x.h: No such file
    | \S*(?:cc1(?:plus)?|gcc|g\+\+|c\+\+|clang(?:\+\+)?|lld?)(?:-[\d.]+)?:\ (?:fatal\ )?error:\ .+
    | \S*\bld(?:\.\w+)?:\ (?:cannot\ find|error:|fatal)\ ?.*    # /usr/bin/ld: cannot find -lfoo
    | \S.*:\ (?:undefined\ reference\ to|multiple\ definition\ of)\ .+
    | CMake\ Error.*
    """,
    re.VERBOSE,
)
_CONTINUED = re.compile(r"CMake Error at .*:$|CMake Error:$|CMake Error at \S+ \(.*\):?$")
_NINJA_FAILED = re.compile(r"^FAILED: ", re.MULTILINE)
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # colors


def command_failed(cell: Cell, status: int, log: Path, environ: Mapping[str, str]) -> BuildError:
    """Return the error for a command with this exit code (negative: killed by that signal); move its log to the cache.

    A compiler's first error message leads; it is not repeated among the last lines.
    """
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    text = redact(_ESCAPES.sub("", text), environ)
    where = keep_file(log, environ, name=f"{cell.wheel}.build.log")
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    diagnostic = find_diagnostic(text)
    last = [line for line in lines[-LAST_LINES:] if diagnostic is None or line.strip() not in diagnostic]
    shown = "".join(f"\n  | {line[:_WIDTH]}" for line in last) or "\n  | (no output)"
    what = f"the build command {describe_exit(status)}"
    if diagnostic is not None:
        only = [line for line in lines if line.strip() not in diagnostic]
        what = f"{diagnostic[0][:_WIDTH]}" + "".join(f"\n  {line[:_WIDTH]}" for line in diagnostic[1:])
        what += f"\n  the build command {describe_exit(status)}" + (f"; its last lines:{shown}" if only else "")
    else:
        what += f"; its last lines:{shown}"
    advice = next((help for pattern, help in _CAUSES if re.search(pattern, text)), None)
    if advice is None and status == -signal.SIGKILL:
        advice = f"probably {_MEMORY}"
    full = f"full output: {where}"
    return BuildError(what, where=cell.id, help=f"{advice}; {full}" if advice else full)


def find_diagnostic(text: str) -> list[str] | None:
    """Return the lines of the first error that a compiler, linker or CMake printed; None if there is none.

    Ninja prints the output of a failed command after ``FAILED:``; what other commands printed before does not count.
    """
    failed = _NINJA_FAILED.search(text)
    lines = text[failed.start() :].splitlines() if failed else text.splitlines()
    for number, line in enumerate(lines):
        if not _DIAGNOSTIC.fullmatch(line.strip()):
            continue
        found = [line.strip()]
        if _CONTINUED.match(found[0]):  # CMake's message follows, indented
            following = (one.strip() for one in lines[number + 1 : number + 6])
            found += [next(filter(None, following), "")]
        return [one for one in found if one]
    return None


@contextmanager
def keep_output(log: Path, cell: Cell, environ: Mapping[str, str]) -> Iterator[None]:
    """Keep the log of a command that succeeded if what it left is unusable."""
    try:
        yield
    except BuildError as error:
        where = keep_file(log, environ, name=f"{cell.wheel}.build.log")
        full = f"output of the build command: {where}"
        help = f"{error.help}; {full}" if error.help else full
        raise BuildError(error.what, where=error.where, help=help) from error


def keep_file(file: Path, environ: Mapping[str, str], *, name: str) -> str:
    """Move a file to fatwheel's cache, replacing that of an earlier failure. Return its path.

    If that fails, return why instead: it must not hide the failure that the file belongs to.
    """
    folder = cache_root(environ) / "failed"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return str(shutil.move(file, folder / name))
    except OSError as error:
        return f"not kept (cannot write to {folder}: {error.strerror or error})"
