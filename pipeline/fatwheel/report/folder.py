"""Read unreleased wheels from a folder of wheels, build records, or both."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.build import BuildRecord
from fatwheel.records.files import BUILD
from fatwheel.records.inventory import Inventory
from fatwheel.report.snapshots import SizedWheel, Snapshot, is_wheel, kind_of, series_of
from fatwheel.wheels.reading.inventory import read_inventory

INVENTORY = ".inventory.json"


def read_folder(folder: Path, now: datetime | None = None) -> tuple[Snapshot, tuple[str, ...]]:
    """Read the wheels under a folder, and notes about what was ignored.

    For a wheel that is not in the folder, ``X.whl.build.json`` gives its size, and ``X.whl.inventory.json`` (the output
    of `fatwheel inventory --json`) its device code. Raises `UsageError` for a folder without wheels and records.
    """
    if not folder.is_dir():
        raise UsageError("folder not found", where=str(folder), help="give a folder of wheels or build records")
    files = {path.name: path for path in sorted(folder.rglob("*")) if path.is_file()}
    names = {name.removesuffix(BUILD) for name in files if is_wheel(name.removesuffix(BUILD))}
    if not names:
        raise UsageError("no wheels or build records found", where=str(folder), help="build a wheel first")
    notes: list[str] = []
    wheels = tuple(_read_wheel(name, files, notes) for name in sorted(names))
    return Snapshot(folder.resolve().name, now or datetime.now(UTC), wheels), tuple(notes)


def _read_wheel(name: str, files: dict[str, Path], notes: list[str]) -> SizedWheel:
    path = files.get(name)
    record = BuildRecord.read(files[f"{name}{BUILD}"]) if f"{name}{BUILD}" in files else None
    size = path.stat().st_size if path else record.bytes if record else 0
    if record and record.bytes != size:
        notes.append(f"{name}: ignored its build record, which is for {record.bytes:,} bytes; the wheel has {size:,}")
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


def add_inventories(snapshot: Snapshot) -> tuple[Snapshot, tuple[str, ...]]:
    """Read the device code of every wheel on this machine; return a note for each that cannot be read."""
    wheels, notes = [], []
    for wheel in snapshot.wheels:
        try:
            wheels.append(wheel.with_inventory(read_inventory))
        except VerificationError as error:
            wheels.append(wheel)
            notes.append(f"{wheel.file}: cannot read its device code: {error.what}")
    return Snapshot(snapshot.tag, snapshot.time, tuple(wheels)), tuple(notes)
