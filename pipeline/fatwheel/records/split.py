"""The result of splitting a fat wheel: the wheels that were written."""

from __future__ import annotations

from fatwheel.records.base import Record
from fatwheel.targets import Target


class SplitPart(Record):
    """One wheel. ``filtered`` libraries lost some device code, ``emptied`` ones all; ``dropped`` ones are excluded."""

    cell: str
    wheel: str
    bytes: int
    targets: list[Target]
    filtered: list[str] = []
    emptied: list[str] = []
    dropped: list[str] = []


class SplitRecord(Record):
    """The fat wheel, its size in bytes, and the wheels split from it."""

    wheel: str
    bytes: int
    parts: list[SplitPart]
