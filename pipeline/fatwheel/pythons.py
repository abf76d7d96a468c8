"""Run pip, venv and fatwheel in child Pythons, unaffected by this process's settings and its working folder."""

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

# Variables that add packages of another Python, or redirect an installation.
_REDIRECTING = frozenset(
    {
        "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_ROOT",
        "PIP_PYTHON", "PIP_NO_DEPS", "PIP_REQUIRE_VIRTUALENV", "UV_PYTHON", "UV_PROJECT_ENVIRONMENT",
        "__PYVENV_LAUNCHER__",
    }
)  # fmt: skip
_VENV_SECONDS = 300.0

Runner = Callable[[Sequence[str | Path], Mapping[str, str], Path, float], Answer]
"""Runs a command with an environment, in a folder, with a timeout in seconds, on the machine or in the container."""


def run_locally(command: Sequence[str | Path], env: Mapping[str, str], cwd: Path, timeout: float) -> Answer:
    """Run a command on this machine: the default `Runner`."""
    return run(command, env=env, cwd=cwd, timeout=timeout)


def own_command(*arguments: str) -> tuple[list[str], dict[str, str]]:
    """Return a command line that runs this fatwheel, and the environment variables to add to the caller's.

    The child does not import modules from the working folder, which may contain its own ``fatwheel.py`` or
    ``json.py``: ``-P`` keeps it off the search path, and PYTHONPATH loses the entries that mean it.
    """
    root = str(Path(__file__).resolve().parents[1])
    kept = (entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if not _is_working_folder(entry))
    return [sys.executable, "-P", "-m", "fatwheel", *arguments], {"PYTHONPATH": os.pathsep.join([root, *kept])}


def _is_working_folder(entry: str) -> bool:
    """Return whether an entry of PYTHONPATH is the working folder; Python takes an empty one for it."""
    try:
        return entry in {"", "."} or Path(entry).samefile(".")
    except OSError:  # not a file or folder
        return False


def clean_python(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without variables that add packages of another Python, and with unbuffered output."""
    kept = {name: value for name, value in environ.items() if name not in _REDIRECTING}
    return kept | {"PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1", "PATH": kept.get("PATH", os.defpath)}


@dataclass(frozen=True)
class Failure:
    """Why pip or venv failed: a short ``cause``, how to fix it, and the last lines of its output."""

    cause: str
    help: str
    last: str
    kind: str  # disk, network, absent, conflict, other

    def __str__(self) -> str:
        return self.cause + self.last


# Messages of pip, most specific first: without a network it also prints "no matching distribution".
_UNREACHED = "new ?connection|name ?resolution|connection (refused|reset|error|aborted)|proxyerror|unreachable"
_BROKEN_OFF = "time(d )?out|sslerror|incompleteread|remote end closed|50[0234] server error|429 client error"
_CAUSES: tuple[tuple[str, str, str, str], ...] = (
    (
        "disk",
        r"No space left on device|Disk quota exceeded",
        "the disk is full",
        "free disk space, or set FATWHEEL_CACHE",
    ),
    (
        "network",
        f"(?i){_UNREACHED}|{_BROKEN_OFF}",
        "cannot reach the package index",
        "check the network connection, or point pip at a mirror or a folder (PIP_INDEX_URL, PIP_FIND_LINKS)",
    ),
    (
        "absent",
        r"No matching distribution found|Could not find a version",
        "no matching version for this machine in the package index",
        "check the name and version, whether it supports this Python and CPU, and pip's settings (PIP_NO_INDEX)",
    ),
    ("conflict", r"ResolutionImpossible", "these requirements conflict with each other", "relax one of them"),
)


def explain_failure(answer: Answer, program: str = "pip") -> Failure:
    """Return the cause of a failure of pip or venv, from its output."""
    text = f"{answer.output}\n{answer.errors}"
    last = "".join(f"\n  {program}: {line}" for line in answer.tail.splitlines())
    for kind, pattern, cause, help in _CAUSES:
        if re.search(pattern, text):
            return Failure(cause, help, last, kind)
    return Failure(f"{program} {answer.ended}", f"see the output of {program} above", last, "other")


def make_venv(
    python: Path | str, place: Path, *, pip: bool, environ: Mapping[str, str], runner: Runner = run_locally
) -> Failure | None:
    """Create a virtual environment at ``place``. Return None, or why that failed."""
    command = [python, "-I", "-m", "venv", *([] if pip else ["--without-pip"]), place.absolute()]
    answer = runner(command, clean_python(environ), place.parent, _VENV_SECONDS)
    if answer.status == 0:
        return None
    found = explain_failure(answer, "venv")
    if found.kind == "disk":
        return found
    return Failure(
        f"cannot create a virtual environment with {python}",
        "install the venv module of this Python (Debian and Ubuntu: apt-get install python3-venv)",
        found.last,
        "other",
    )


def interpreter(place: Path) -> Path:
    """Return the interpreter of a virtual environment."""
    return place / "bin" / "python"


def run_pip(
    python: Path | str,
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: Path,
    timeout: float,
    runner: Runner = run_locally,
) -> Failure | None:
    """Run ``python -m pip`` with these arguments. Return None, or why it failed."""
    command = [python, "-I", "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    answer = runner(command, clean_python(environ) | {"PIP_PROGRESS_BAR": "off"}, cwd, timeout)
    return None if answer.status == 0 else explain_failure(answer)


def install(
    python: Path, requirements: Sequence[str | Path], *, environ: Mapping[str, str], cwd: Path, timeout: float
) -> Answer:
    """Install into the environment of another interpreter with this process's pip, else with uv.

    The status of the answer is `NOT_STARTED` if neither is available.
    """
    if importlib.util.find_spec("pip") is not None:
        quiet = ["--disable-pip-version-check", "--no-input", "--quiet"]
        command: list[str | Path] = [sys.executable, "-I", "-m", "pip", "--python", python, "install", *quiet]
    else:
        command = [shutil.which("uv") or "uv", "pip", "install", "--quiet", "--python", python]
    return run([*command, *requirements], env=clean_python(environ), cwd=cwd, timeout=timeout)
