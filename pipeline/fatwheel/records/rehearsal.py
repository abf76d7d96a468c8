"""The result of `fatwheel rehearse`, by cell."""

from __future__ import annotations

from fatwheel.records.base import Record
from fatwheel.records.plan import Cell


class Rehearsed(Record):
    """A cell and the result of each stage, ``-`` if not reached. ``seconds``: duration of the build."""

    id: str
    wheel: str
    cell: Cell
    build: str = "-"  # done, failed, skipped
    bytes: int | None = None
    seconds: float | None = None
    smoke: str = "-"  # import, GPU 9.0, placeholder, skipped, failed
    release: str = "-"  # the asset's outcome
    index: str = "-"  # listed
    install: str = "-"  # done, failed
    reason: str = ""
    status: int = 0  # exit code of the failed step


class Rehearsal(Record):
    """All cells, and whether the release was published."""

    tag: str
    published: bool
    folder: str
    cells: list[Rehearsed]
