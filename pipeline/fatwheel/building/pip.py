"""pip, run for a build: quiet while it works, patient with the network, and plain about why it failed."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fatwheel import pythons
from fatwheel.building.cache import Notify
from fatwheel.building.engine import HOST, Engine
from fatwheel.errors import BuildError
from fatwheel.processes import Answer

_SECONDS = 7200.0  # the dependencies of a CUDA package can be gigabytes
_PAUSE = 60.0  # seconds between looks for a version that is not there yet


@dataclass(frozen=True)
class Patience:
    """How long downloads are tried. ``waits``: seconds before each further try where the network fails.

    ``window``: seconds in which a version that the index does not have may still appear; what nightlies are built
    from is published on the same night.
    """

    waits: tuple[float, ...] = (5.0, 30.0)
    window: float = 0.0
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


ONCE = Patience(waits=())
"""No further try."""


def run_pip(
    python: Path | str,
    arguments: Sequence[str],
    *,
    what: str,
    environ: Mapping[str, str],
    cwd: Path,
    notify: Notify,
    engine: Engine = HOST,
    patience: Patience = ONCE,
) -> None:
    """Run ``python -m pip`` with these arguments; ``what`` names it in messages.

    Raises `BuildError` with pip's last words and what to do about them.
    """
    notify(what)
    waits = list(patience.waits)
    began = patience.clock()
    while True:
        failed = pythons.run_pip(python, arguments, environ=environ, cwd=cwd, timeout=_SECONDS, runner=_runner(engine))
        if failed is None:
            return
        if failed.kind == "network" and waits:
            wait = waits.pop(0)
        elif failed.kind == "absent" and patience.clock() - began < patience.window:
            wait = _PAUSE
        else:
            raise BuildError(f"{what}: {failed}", help=failed.help)
        notify(f"{what}: {failed.cause}; once more in {wait:.0f} s")
        patience.pause(wait)


def own_pip(scratch: Path, environ: Mapping[str, str]) -> Path:
    """A Python that has pip: this one, else one in a virtual environment made in ``scratch`` (uvx brings no pip)."""
    if importlib.util.find_spec("pip") is not None:
        return Path(sys.executable)
    return make_venv(sys.executable, scratch / "pip", pip=True, environ=environ)


def make_venv(python: Path | str, place: Path, *, pip: bool, environ: Mapping[str, str], engine: Engine = HOST) -> Path:
    """Make a virtual environment and return its interpreter. Raises `BuildError`."""
    failed = pythons.make_venv(python, place, pip=pip, environ=environ, runner=_runner(engine))
    if failed:
        raise BuildError(str(failed), where=str(place.parent), help=failed.help)
    return pythons.interpreter(place)


def _runner(engine: Engine) -> pythons.Runner:
    def ask(command: Sequence[str | Path], env: Mapping[str, str], cwd: Path, timeout: float) -> Answer:
        return engine.ask(command, env=env, cwd=cwd, timeout=timeout)

    return ask
