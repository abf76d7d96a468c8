"""Paths of fatwheel's data files and of the scripts that run without it, in builds and on users' machines."""

from __future__ import annotations

from pathlib import Path

from fatwheel.errors import UsageError


def scripts() -> Path:
    """Return the folder of scripts: ``scripts/`` of a checkout, ``fatwheel/scripts/`` of an installed fatwheel."""
    package = Path(__file__).resolve().parent
    return next(
        (place for place in (package / "scripts", package.parent.parent / "scripts") if place.is_dir()), package
    )


def script(name: str) -> Path:
    """Return the path of a script. Raises `UsageError` if it is missing."""
    place = scripts() / name
    if not place.is_file():
        raise UsageError(f"script {name} not found", where=str(scripts()), help="reinstall fatwheel")
    return place


def resource(name: str) -> Path:
    """Return the path of a data file."""
    return Path(__file__).resolve().parent / "data" / name
