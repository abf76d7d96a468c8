"""Sample repositories to generate workflows for."""

from __future__ import annotations

import shutil
from pathlib import Path

from fatwheel.declaration import Declaration, load

ROOT = Path(__file__).resolve().parents[3]
NOXFILE = '"""Sessions."""\n\nfrom fatwheel.sessions import register\n\nregister()\n'
SETS = {
    "flashinfer-split": ROOT / "matrix.yaml",
    "flashinfer-providers": ROOT / "examples/sets/flashinfer",
    "torch": ROOT / "examples/sets/torch",
    "cmake": ROOT / "examples/sets/cmake",
    "minikernels": ROOT / "examples/minikernels",
}


def copied(name: str, place: Path, *, nox: bool = False) -> Path:
    """Copy one of the sets to a new repository, and return the path of its matrix.yaml."""
    source = SETS[name]
    place.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "build"))
    else:
        shutil.copy(source, place)
    (place / ".git").mkdir(exist_ok=True)
    if nox:
        (place / "noxfile.py").write_text(NOXFILE)
    return place / "matrix.yaml"


def changed(matrix: Path, *changes: tuple[str, str]) -> Declaration:
    """Replace text in matrix.yaml, and load it."""
    text = matrix.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    matrix.write_text(text)
    return load(matrix)
