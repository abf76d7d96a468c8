"""The last thing that a build does to its wheel, as `pack` of the package says: stripped, slimmed, with a bill."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fatwheel.declaration.model import Package
from fatwheel.errors import BuildError, UsageError, VerificationError
from fatwheel.records.build import BuildRecord, LeftOut
from fatwheel.records.plan import Cell
from fatwheel.wheels.making.repack import Changes, find_matches, repack
from fatwheel.wheels.making.stripping import find_strip
from fatwheel.wheels.reading.archive import Archive

_CODE = {".so", ".cubin", ".fatbin"}  # endings of what a build reports as modules


def finished(wheel: Path, package: Package, cell: Cell, draft: BuildRecord) -> BuildRecord:
    """Repack the wheel where it is, and say in its record what left it. Raises `BuildError` for what cannot be.

    A shim has nothing to strip or leave out; a slice need not hold what is to be left out. A tree was packed at its
    level already.
    """
    packing = package.pack
    level = packing.level if package.build.kind == "wheel" else None
    exclude = [] if cell.shim else packing.exclude
    if draft.slice is not None:
        with Archive.open(wheel) as archive:
            exclude = [glob for glob in exclude if find_matches(archive.by_name, glob)]
    changes = Changes(exclude=tuple(exclude), strip_debug=packing.strip_debug and not cell.shim, sbom=packing.sbom)
    if changes == Changes() and level is None:
        return draft
    try:
        done = repack(wheel, wheel.parent, changes, level=level)
    except (UsageError, VerificationError) as error:
        what = error.what if error.where in (None, wheel.name) else f"{error.where}: {error.what}"
        raise BuildError(what, where=cell.id, help=error.help or "mend `pack` of the package") from error
    return without(draft, libraries(done.excluded), "left out by `pack`")


def check_tools(package: Package, cell: Cell) -> None:
    """Raise `UsageError` for a program that `finished` will need and that is not here."""
    if package.pack.strip_debug and cell.arch and not cell.shim:
        find_strip(cell.arch)


def libraries(members: Iterable[str]) -> list[str]:
    """Those that a build may have reported as modules."""
    return [name for name in members if _CODE & set(Path(name).suffixes)]


def without(record: BuildRecord, members: Iterable[str], reason: str) -> BuildRecord:
    """The record of a wheel that these members left: their modules are left out, and why."""
    gone = sorted({Path(name).name.split(".")[0] for name in members})
    left_out = [*record.left_out, *(LeftOut(name=name, reason=reason) for name in gone)]
    modules = [module for module in record.modules if module.name not in gone]
    return record.model_copy(update={"modules": modules, "left_out": left_out})
