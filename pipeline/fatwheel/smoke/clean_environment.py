"""The clean environment of a smoke test: a new virtual environment with one wheel and its declared dependencies."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fatwheel.errors import SmokeError
from fatwheel.processes import NOT_STARTED
from fatwheel.pythons import install, interpreter, make_venv

_INSTALL_SECONDS = 1800.0  # the dependencies of a CUDA package may be several GiB

# Variables of this process that GPU tests get in addition to the fixed ones.
_KEPT_FOR_GPU = (
    "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
)  # fmt: skip


@dataclass(frozen=True)
class CleanEnvironment:
    """A virtual environment below ``folder``, in which the tests also run, outside any checkout."""

    folder: Path
    python: Path

    @classmethod
    def make(cls, folder: Path, base: str, environ: Mapping[str, str]) -> CleanEnvironment:
        """Create it with the interpreter ``base``, without pip. Raises `SmokeError`."""
        place = folder / "environment"
        (folder / "home").mkdir()
        (folder / "work").mkdir()
        failed = make_venv(base, place, pip=False, environ=environ)
        if failed:
            raise SmokeError(str(failed), help=failed.help)
        return cls(folder, interpreter(place))

    @property
    def work(self) -> Path:
        """The empty working folder of the commands."""
        return self.folder / "work"

    def site_packages(self) -> Path:
        """Return the folder in which the wheel is installed."""
        return next(self.folder.glob("environment/lib/python*/site-packages"))

    def install(
        self, requirements: Sequence[str | Path], environ: Mapping[str, str], options: Sequence[str] = ()
    ) -> None:
        """Install requirements with their dependencies, with this process's pip, else uv. Raises `SmokeError`."""
        arguments = [*options, *requirements]
        answer = install(self.python, arguments, environ=environ, cwd=self.work, timeout=_INSTALL_SECONDS)
        if answer.status == NOT_STARTED:
            raise SmokeError(
                f"{sys.executable} has no pip, and uv is not on PATH",
                help=f"run `{sys.executable} -m ensurepip`, or install uv",
            )
        if answer.status != 0:
            names = ", ".join(Path(one).name if isinstance(one, Path) else one for one in requirements)
            raise SmokeError(f"installing {names} {answer.ended}:\n{answer.tail}")

    def variables(self, environ: Mapping[str, str], *, gpu: bool = False) -> dict[str, str]:
        """Return the environment of a test: fixed, with a separate HOME; for ``gpu``, with the variables of devices."""
        home = str(self.folder / "home")
        kept = {name: environ[name] for name in _KEPT_FOR_GPU if gpu and name in environ}
        return kept | {
            "PATH": f"{self.python.parent}:{os.defpath}",
            "HOME": home,
            "XDG_CACHE_HOME": f"{home}/.cache",
            "TMPDIR": home,
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONNOUSERSITE": "1",
            "PYTHONSAFEPATH": "1",
        }
