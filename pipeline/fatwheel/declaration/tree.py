"""The files around a matrix.yaml: on disk, or in a Git revision (`fatwheel.plan.revision`)."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Tree(Protocol):
    """Files, addressed by paths relative to the folder of matrix.yaml."""

    def is_file(self, path: str) -> bool:
        """Whether this file exists."""
        ...

    def is_folder(self, path: str) -> bool:
        """Whether this folder exists."""
        ...

    def read(self, path: str) -> str:
        """The text of an existing file."""
        ...


class Disk:
    """The files on disk."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def is_file(self, path: str) -> bool:
        """Whether this file exists."""
        return (self._root / path).is_file()

    def is_folder(self, path: str) -> bool:
        """Whether this folder exists."""
        return (self._root / path).is_dir()

    def read(self, path: str) -> str:
        """The text of an existing file."""
        return (self._root / path).read_text(encoding="utf-8")
