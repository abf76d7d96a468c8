"""The files around a matrix.yaml: on disk, or (see `fatwheel.plan.revision`) as they stood in a git revision."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Tree(Protocol):
    """Files by their paths relative to the folder of matrix.yaml."""

    def is_file(self, path: str) -> bool:
        """Whether there is such a file."""
        ...

    def is_folder(self, path: str) -> bool:
        """Whether there is such a folder."""
        ...

    def read(self, path: str) -> str:
        """The text of a file that is there."""
        ...


class Disk:
    """The files as they are now."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def is_file(self, path: str) -> bool:
        """Whether there is such a file."""
        return (self._root / path).is_file()

    def is_folder(self, path: str) -> bool:
        """Whether there is such a folder."""
        return (self._root / path).is_dir()

    def read(self, path: str) -> str:
        """The text of a file that is there."""
        return (self._root / path).read_text(encoding="utf-8")
