"""Verify wheels against the cells of matrix.yaml that they belong to."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from packaging.utils import canonicalize_name

from fatwheel.declaration import Declaration
from fatwheel.errors import PipelineError, UsageError
from fatwheel.plan import find_cell, iter_cells
from fatwheel.plan.versions import parse_date
from fatwheel.records.build import BuildRecord
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import BUILD, beside
from fatwheel.records.plan import Cell
from fatwheel.records.verification import Finding, Verification
from fatwheel.wheels.checks.expected import Expected, expected_of
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.read_embedded import read_embedded
from fatwheel.wheels.verify import verify

_NIGHTLY = re.compile(r"\.dev(\d{8})\b")


class CellFinder:
    """Finds the cell that a wheel was built for, in any channel of matrix.yaml."""

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self._cells: dict[str | None, list[Cell]] = {}

    def named(self, cell_id: str) -> Cell:
        """Return the cell with this ID. Raises `UsageError` with near misses."""
        return find_cell(self.declaration, cell_id)

    def find(self, wheel: Path, embedded: EmbeddedMetadata | None) -> Cell | None:
        """Return the cell whose wheel has this file name, else the only one that the embedded metadata describes."""
        date = _NIGHTLY.search(wheel.name)
        known = self._known(date[1] if date else None)
        by_name = [cell for cell in known if cell.wheel == wheel.name]
        if by_name or embedded is None:
            return by_name[0] if by_name else None
        described = {cell.id: cell for cell in known if _describes(embedded, cell)}
        return next(iter(described.values())) if len(described) == 1 else None

    def _known(self, date: str | None) -> list[Cell]:
        if date not in self._cells:
            try:
                day = parse_date(date)
            except UsageError:  # eight digits that are not a date
                day = None
            self._cells[date] = [
                cell for name in self.declaration.channels for cell in iter_cells(self.declaration, name, day)
            ]
        return self._cells[date]


def verify_wheel(wheel: Path, finder: CellFinder | None, cell_id: str | None = None) -> Verification:
    """Verify a wheel and compare it with the cell ``cell_id``, else with its own cell if the finder knows one.

    The build record beside the wheel, if any, is compared too. The wheel of another cell than ``cell_id`` gets one
    finding for that. Raises `UsageError` for an unknown cell, or a wheel or record that cannot be read.
    """
    if finder is None:
        return verify(wheel)
    requested = finder.named(cell_id) if cell_id else None
    embedded = _embedded(wheel)
    own = finder.find(wheel, embedded)
    if requested and own and own.id != requested.id:
        found = verify(wheel)
        other = Finding(
            kind="cell", severity="error", member=None, what=f"this is the wheel of {own.id}, not of {requested.id}",
            help=f"pass --cell {own.id}, or no --cell at all",
        )  # fmt: skip
        return found.model_copy(update={"cell": requested.id, "findings": [other, *found.findings]})
    cell = requested or own
    if cell is None:
        return verify(wheel)
    expected = _expected(finder.declaration, wheel, cell, embedded)
    return verify(wheel, expected).model_copy(update={"cell": cell.id})


def _describes(embedded: EmbeddedMetadata, cell: Cell) -> bool:
    return (
        canonicalize_name(embedded.distribution) == canonicalize_name(cell.package)
        and embedded.version == cell.full_version
        and (embedded.cuda, embedded.arch, embedded.family) == (cell.cuda, cell.arch, cell.family)
    )


def _embedded(wheel: Path) -> EmbeddedMetadata | None:
    try:
        with Archive.open(wheel) as archive:
            return read_embedded(archive, invalid="ignore")
    except PipelineError:  # reported by verify
        return None


def _expected(declaration: Declaration, wheel: Path, cell: Cell, embedded: EmbeddedMetadata | None) -> Expected:
    record = beside(wheel, BUILD)
    build = BuildRecord.read(record) if record.exists() else None
    placeholder = embedded is not None and embedded.placeholder  # contains none of the package's files
    stamp_files = () if placeholder else declaration.package(cell.package).stamp
    expected = expected_of(cell, build=build, stamp_files=stamp_files)
    partial = expected.partial or (build is None and embedded is not None and embedded.slice is not None)
    return dataclasses.replace(expected, partial=partial)
