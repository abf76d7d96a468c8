"""Where the scripts are that run outside fatwheel: in build environments, on GPU runners, on users' machines."""

from __future__ import annotations

from pathlib import Path

from fatwheel.errors import UsageError


def scripts() -> Path:
    """The folder of scripts: ``scripts/`` of a checkout, ``fatwheel/scripts/`` of an installed fatwheel."""
    package = Path(__file__).resolve().parent
    return next(
        (place for place in (package / "scripts", package.parent.parent / "scripts") if place.is_dir()), package
    )


def script(name: str) -> Path:
    """One of them by its file name. Raises `UsageError` if there is none."""
    place = scripts() / name
    if not place.is_file():
        raise UsageError(f"fatwheel has no script {name}", where=str(scripts()))
    return place


def resource(name: str) -> Path:
    """A file of fatwheel's own data."""
    return Path(__file__).resolve().parent / "data" / name
