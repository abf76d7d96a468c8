"""Embedded metadata: ``*.dist-info/fatwheel.json`` in every wheel that fatwheel writes."""

from __future__ import annotations

from typing import Self

from fatwheel.records.base import Record
from fatwheel.records.plan import Cell
from fatwheel.targets import Capability, Target


class EmbeddedMetadata(Record):
    """Targets, coverage, toolkit and commit of a wheel, readable without import. ``slice`` as in `BuildRecord`."""

    distribution: str
    version: str  # with the local label
    cuda: str | None
    toolkit: str | None
    arch: str | None
    family: str | None
    targets: list[Target]
    covers: list[Capability]
    commit: str | None
    slice: list[str] | None = None
    placeholder: bool = False

    @classmethod
    def of(cls, cell: Cell, *, commit: str | None = None, modules: list[str] | None = None) -> Self:
        """The embedded metadata of a cell's wheel. ``modules``: those of a partial wheel, else None."""
        return cls(
            distribution=cell.package,
            version=cell.full_version,
            cuda=cell.cuda,
            toolkit=cell.toolkit,
            arch=cell.arch,
            family=cell.family,
            targets=cell.targets,
            covers=cell.covers,
            commit=commit,
            slice=modules,
        )
