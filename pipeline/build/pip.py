"""pip, run for a build: quiet while it works, and plain about why it failed."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.build.cache import Notify
from pipeline.build.process import run_group
from pipeline.errors import BuildError

_LAST_WORDS = 6  # lines of pip's output that an error shows
# What pip says, in its order of trying: without a network it ends with "no matching distribution" too.
_CAUSES: tuple[tuple[str, str, str], ...] = (
    (r"No space left on device|Disk quota exceeded", "the disk is full", "free some space, or set FATWHEEL_CACHE"),
    (
        "(?i)new ?connection|name ?resolution|connection (refused|reset|error)|proxyerror|unreachable|timeout|sslerror",
        "the package index cannot be reached",
        "connect this machine, or point pip at a mirror or a folder (PIP_INDEX_URL, PIP_FIND_LINKS)",
    ),
    (
        r"No matching distribution found|Could not find a version",
        "the package index has no such version for this machine",
        "check the name and version, and that it is made for this Python and CPU",
    ),
    (r"ResolutionImpossible", "these requirements contradict one another", "loosen one of them"),
)


def run_pip(
    python: Path | str, arguments: Sequence[str], *, what: str, environ: Mapping[str, str], cwd: Path, notify: Notify
) -> None:
    """Run ``python -m pip`` with these arguments; ``what`` names it in messages.

    Raises `BuildError` with pip's last words and what to do about them.
    """
    notify(what)
    output = bytearray()
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    env = dict(environ) | {"PIP_PROGRESS_BAR": "off"}
    status = run_group(command, env=env, cwd=cwd, sink=output.extend)
    if status != 0:
        raise _failure(what, status, output.decode(errors="replace"))


def _failure(what: str, status: int, output: str) -> BuildError:
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    cause, remedy = next(
        ((cause, remedy) for pattern, cause, remedy in _CAUSES if re.search(pattern, output)),
        (f"pip ended with status {status}", "see what pip says above"),
    )
    last = "".join(f"\n  pip: {line}" for line in lines[-_LAST_WORDS:])
    return BuildError(f"{what}: {cause}{last}", remedy=remedy)


def own_pip(scratch: Path, environ: Mapping[str, str]) -> Path:
    """A Python that has pip: this one, else one in a virtual environment made in ``scratch`` (uvx brings no pip)."""
    if importlib.util.find_spec("pip") is not None:
        return Path(sys.executable)
    return make_venv(sys.executable, scratch / "pip", pip=True, environ=environ)


def make_venv(python: Path | str, place: Path, *, pip: bool, environ: Mapping[str, str]) -> Path:
    """Make a virtual environment and return its interpreter. Raises `BuildError`."""
    output = bytearray()
    options = [] if pip else ["--without-pip"]
    command = [str(python), "-m", "venv", *options, str(place)]
    status = run_group(command, env=environ, cwd=place.parent, sink=output.extend)
    if status != 0:
        text = output.decode(errors="replace")
        if re.search(r"No space left on device", text):
            raise BuildError(
                "the disk is full", where=str(place.parent), remedy="free some space, or set FATWHEEL_CACHE"
            )
        last = "".join(f"\n  venv: {line}" for line in text.splitlines()[-_LAST_WORDS:])
        raise BuildError(
            f"no virtual environment could be made with {python}{last}",
            remedy="install the venv module of this Python (Debian and Ubuntu: apt-get install python3-venv)",
        )
    return place / "bin" / "python"


def clean_python(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would let another Python's packages in."""
    foreign = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "__PYVENV_LAUNCHER__"}
    kept = {name: value for name, value in environ.items() if name not in foreign}
    return kept | {"PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1", "PATH": kept.get("PATH", os.defpath)}
