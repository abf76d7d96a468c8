"""pip, run for a build: quiet while it works, and plain about why it failed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline import pythons
from pipeline.build.cache import Notify
from pipeline.errors import BuildError

_SECONDS = 7200.0  # the dependencies of a CUDA package can be gigabytes


def run_pip(
    python: Path | str, arguments: Sequence[str], *, what: str, environ: Mapping[str, str], cwd: Path, notify: Notify
) -> None:
    """Run ``python -m pip`` with these arguments; ``what`` names it in messages.

    Raises `BuildError` with pip's last words and what to do about them.
    """
    notify(what)
    failed = pythons.run_pip(python, arguments, environ=environ, cwd=cwd, timeout=_SECONDS)
    if failed:
        raise BuildError(f"{what}: {failed}", remedy=failed.remedy)


def own_pip(scratch: Path, environ: Mapping[str, str]) -> Path:
    """A Python that has pip: this one, else one in a virtual environment made in ``scratch`` (uvx brings no pip)."""
    if importlib.util.find_spec("pip") is not None:
        return Path(sys.executable)
    return make_venv(sys.executable, scratch / "pip", pip=True, environ=environ)


def make_venv(python: Path | str, place: Path, *, pip: bool, environ: Mapping[str, str]) -> Path:
    """Make a virtual environment and return its interpreter. Raises `BuildError`."""
    failed = pythons.make_venv(python, place, pip=pip, environ=environ)
    if failed:
        raise BuildError(str(failed), where=str(place.parent), remedy=failed.remedy)
    return pythons.interpreter(place)
