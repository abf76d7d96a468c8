"""Repositories for tests of what is generated."""

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
    """A repository of its own with one of the sets; its declaration."""
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
    """The declaration with some of its text changed."""
    text = matrix.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    matrix.write_text(text)
    return load(matrix)
