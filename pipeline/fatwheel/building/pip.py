"""Run pip for builds, with retries after network failures and readable errors."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fatwheel import pythons
from fatwheel.building.engine import HOST, Engine
from fatwheel.errors import BuildError
from fatwheel.processes import Answer
from fatwheel.retry import Notify, call_with_retries

_SECONDS = 7200.0  # the dependencies of a CUDA package may be several GiB
_PAUSE = 60.0  # seconds between checks for a version that is not published yet


@dataclass(frozen=True)
class DownloadRetries:
    """How long downloads are retried. ``waits``: seconds before each retry after a network failure.

    ``window``: seconds during which a version missing from the index may still appear, since the dependencies of
    nightlies are published on the same night.
    """

    waits: tuple[float, ...] = (5.0, 30.0)
    window: float = 0.0
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


NO_RETRIES = DownloadRetries(waits=())


class _PipError(Exception):
    """A failed run of pip."""

    def __init__(self, what: str, failure: pythons.Failure) -> None:
        super().__init__(f"{what}: {failure.cause}")
        self.failure = failure


def run_pip_with_retries(
    python: Path | str,
    arguments: Sequence[str],
    *,
    what: str,
    environ: Mapping[str, str],
    cwd: Path,
    notify: Notify,
    engine: Engine = HOST,
    retries: DownloadRetries = NO_RETRIES,
) -> None:
    """Run ``python -m pip`` with these arguments; ``what`` names it in messages.

    Raises `BuildError` with pip's last words and what to do about them.
    """
    notify(what)
    waits = list(retries.waits)
    began = retries.clock()

    def install() -> None:
        failed = pythons.run_pip(python, arguments, environ=environ, cwd=cwd, timeout=_SECONDS, runner=_runner(engine))
        if failed is not None:
            raise _PipError(what, failed)

    def next_wait(error: Exception) -> float | None:
        kind = error.failure.kind if isinstance(error, _PipError) else None
        if kind == "network" and waits:
            return waits.pop(0)
        return _PAUSE if kind == "absent" and retries.clock() - began < retries.window else None

    try:
        call_with_retries(install, next_wait, sleep=retries.pause, notify=notify)
    except _PipError as error:
        raise BuildError(f"{what}: {error.failure}", help=error.failure.help) from None


def own_pip(scratch: Path, environ: Mapping[str, str]) -> Path:
    """A Python that has pip: this one, else one in a virtual environment made in ``scratch`` (uvx brings no pip)."""
    if importlib.util.find_spec("pip") is not None:
        return Path(sys.executable)
    return make_build_venv(sys.executable, scratch / "pip", pip=True, environ=environ)


def make_build_venv(
    python: Path | str, place: Path, *, pip: bool, environ: Mapping[str, str], engine: Engine = HOST
) -> Path:
    """Make a virtual environment and return its interpreter. Raises `BuildError`."""
    failed = pythons.make_venv(python, place, pip=pip, environ=environ, runner=_runner(engine))
    if failed:
        raise BuildError(str(failed), where=str(place.parent), help=failed.help)
    return pythons.interpreter(place)


def _runner(engine: Engine) -> pythons.Runner:
    def ask(command: Sequence[str | Path], env: Mapping[str, str], cwd: Path, timeout: float) -> Answer:
        return engine.ask(command, env=env, cwd=cwd, timeout=timeout)

    return ask
