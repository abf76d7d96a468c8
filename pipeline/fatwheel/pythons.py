"""Other Pythons: environments made for them, and pip run in them, whatever this process's own settings are."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fatwheel.processes import Answer, run

# What would let another Python's packages in, or send an install elsewhere.
_FOREIGN = frozenset(
    {
        "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_ROOT",
        "PIP_PYTHON", "PIP_NO_DEPS", "PIP_REQUIRE_VIRTUALENV", "UV_PYTHON", "UV_PROJECT_ENVIRONMENT",
        "__PYVENV_LAUNCHER__",
    }
)  # fmt: skip
_VENV_SECONDS = 300.0

Runner = Callable[[Sequence[str | Path], Mapping[str, str], Path, float], Answer]
"""Runs a command (with these variables, in this folder, for so many seconds at most) where the Python is."""


def here(command: Sequence[str | Path], env: Mapping[str, str], cwd: Path, timeout: float) -> Answer:
    """The `Runner` of this machine."""
    return run(command, env=env, cwd=cwd, timeout=timeout)


def own_command(*arguments: str) -> tuple[list[str], dict[str, str]]:
    """A command line of this very fatwheel, and the variables that it needs on top of the caller's.

    ``-P`` keeps the working folder off the module search path: a project may hold its own ``fatwheel.py``.
    """
    root = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return [sys.executable, "-P", "-m", "fatwheel", *arguments], {"PYTHONPATH": path}


def clean_python(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would let another Python's packages in, and with its output unbuffered."""
    kept = {name: value for name, value in environ.items() if name not in _FOREIGN}
    return kept | {"PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1", "PATH": kept.get("PATH", os.defpath)}


@dataclass(frozen=True)
class Failure:
    """Why pip or venv failed: ``cause`` in a few words, what to do, and the last lines that it said."""

    cause: str
    help: str
    last: str
    kind: str  # disk, network, absent, conflict, other

    def __str__(self) -> str:
        return self.cause + self.last


# What pip says, in its order of trying: without a network it ends with "no matching distribution" too.
_UNREACHED = "new ?connection|name ?resolution|connection (refused|reset|error|aborted)|proxyerror|unreachable"
_BROKEN_OFF = "time(d )?out|sslerror|incompleteread|remote end closed|50[0234] server error|429 client error"
_CAUSES: tuple[tuple[str, str, str, str], ...] = (
    (
        "disk",
        r"No space left on device|Disk quota exceeded",
        "the disk is full",
        "free some space, or set FATWHEEL_CACHE",
    ),
    (
        "network",
        f"(?i){_UNREACHED}|{_BROKEN_OFF}",
        "the package index cannot be reached",
        "connect this machine, or point pip at a mirror or a folder (PIP_INDEX_URL, PIP_FIND_LINKS)",
    ),
    (
        "absent",
        r"No matching distribution found|Could not find a version",
        "the package index has no such version for this machine",
        "check the name and version, that it is made for this Python and CPU, and where pip looks (PIP_NO_INDEX)",
    ),
    ("conflict", r"ResolutionImpossible", "these requirements contradict one another", "loosen one of them"),
)


def why(answer: Answer, program: str = "pip") -> Failure:
    """What a failed pip or venv said, understood."""
    text = f"{answer.output}\n{answer.errors}"
    last = "".join(f"\n  {program}: {line}" for line in answer.tail.splitlines())
    for kind, pattern, cause, help in _CAUSES:
        if re.search(pattern, text):
            return Failure(cause, help, last, kind)
    return Failure(f"{program} {answer.ended}", f"see what {program} says above", last, "other")


def make_venv(
    python: Path | str, place: Path, *, pip: bool, environ: Mapping[str, str], runner: Runner = here
) -> Failure | None:
    """Make a virtual environment at ``place``; None, or why there is none."""
    command = [python, "-m", "venv", *([] if pip else ["--without-pip"]), place.absolute()]
    answer = runner(command, clean_python(environ), place.parent, _VENV_SECONDS)
    if answer.status == 0:
        return None
    found = why(answer, "venv")
    if found.kind == "disk":
        return found
    return Failure(
        f"no virtual environment could be made with {python}",
        "install the venv module of this Python (Debian and Ubuntu: apt-get install python3-venv)",
        found.last,
        "other",
    )


def interpreter(place: Path) -> Path:
    """The interpreter of a virtual environment."""
    return place / "bin" / "python"


def run_pip(
    python: Path | str,
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: Path,
    timeout: float,
    runner: Runner = here,
) -> Failure | None:
    """Run ``python -m pip`` with these arguments; None, or why it failed."""
    command = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    answer = runner(command, clean_python(environ) | {"PIP_PROGRESS_BAR": "off"}, cwd, timeout)
    return None if answer.status == 0 else why(answer)


def install(
    python: Path, requirements: Sequence[str | Path], *, environ: Mapping[str, str], cwd: Path, timeout: float
) -> Answer:
    """Install into the environment of another interpreter, by this process's pip, else by uv.

    Answers `NOT_STARTED` where there is neither.
    """
    if importlib.util.find_spec("pip") is not None:
        quiet = ["--disable-pip-version-check", "--no-input", "--quiet"]
        command: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "install", *quiet]
    else:
        command = [shutil.which("uv") or "uv", "pip", "install", "--quiet", "--python", python]
    return run([*command, *requirements], env=clean_python(environ), cwd=cwd, timeout=timeout)
