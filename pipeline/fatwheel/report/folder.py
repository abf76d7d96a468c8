"""Wheels that are not released yet: a folder of wheels, their build records, or both."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.build import BuildRecord
from fatwheel.records.files import BUILD
from fatwheel.records.inventory import Inventory
from fatwheel.report.sizes import SizedWheel, Snapshot, is_wheel, kind_of, series_of
from fatwheel.wheels.reading.inventory import read_inventory

INVENTORY = ".inventory.json"


def read_folder(folder: Path, now: datetime | None = None) -> tuple[Snapshot, tuple[str, ...]]:
    """The wheels under a folder, and notes.

    Of a wheel that lies elsewhere ``X.whl.build.json`` tells the size, and ``X.whl.inventory.json`` (what `fatwheel
    inventory --json` prints) the machine code. Raises `UsageError` where there is neither wheel nor record.
    """
    if not folder.is_dir():
        raise UsageError("there is no such folder", where=str(folder), help="give the folder of wheels or records")
    files = {path.name: path for path in sorted(folder.rglob("*")) if path.is_file()}
    names = {name.removesuffix(BUILD) for name in files if is_wheel(name.removesuffix(BUILD))}
    if not names:
        raise UsageError("it holds no wheels and no records", where=str(folder), help="build something first")
    notes: list[str] = []
    wheels = tuple(_wheel(name, files, notes) for name in sorted(names))
    return Snapshot(folder.resolve().name, now or datetime.now(UTC), wheels), tuple(notes)


def _wheel(name: str, files: dict[str, Path], notes: list[str]) -> SizedWheel:
    path = files.get(name)
    record = BuildRecord.read(files[f"{name}{BUILD}"]) if f"{name}{BUILD}" in files else None
    size = path.stat().st_size if path else record.bytes if record else 0
    if record and record.bytes != size:
        notes.append(f"{name}: {size:,} bytes, and its build record tells of {record.bytes:,}: the record is not used")
        record = None
    return SizedWheel(
        file=name,
        series=series_of(name),
        bytes=size,
        cell=record.cell if record else None,
        inventory=Inventory.read(files[f"{name}{INVENTORY}"]) if f"{name}{INVENTORY}" in files else None,
        kind=kind_of(record),
        path=path if not (record and record.placeholder) else None,
    )


def with_inventories(snapshot: Snapshot) -> tuple[Snapshot, tuple[str, ...]]:
    """The same with the machine code of every wheel that lies on this machine; of what cannot be read, a note."""
    wheels, notes = [], []
    for wheel in snapshot.wheels:
        try:
            wheels.append(wheel.with_inventory(read_inventory))
        except VerificationError as error:
            wheels.append(wheel)
            notes.append(f"{wheel.file}: its machine code cannot be read: {error.what}")
    return Snapshot(snapshot.tag, snapshot.time, tuple(wheels)), tuple(notes)
