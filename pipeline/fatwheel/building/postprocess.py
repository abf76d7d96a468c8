"""Postprocess a built wheel as `pack` declares: strip it, exclude files, add an SBOM, compress it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fatwheel.declaration.model import Package
from fatwheel.errors import BuildError, UsageError, VerificationError
from fatwheel.records.build import BuildRecord, ExcludedModule
from fatwheel.records.plan import Cell
from fatwheel.wheels.making.repack import Changes, find_matches, repack
from fatwheel.wheels.making.stripping import find_strip
from fatwheel.wheels.reading.archive import Archive

_CODE = {".so", ".cubin", ".fatbin"}  # suffixes of the files that builds report as modules


def postprocess(wheel: Path, package: Package, cell: Cell, draft: BuildRecord) -> BuildRecord:
    """Repack the wheel in place and return its record with the excluded modules. Raises `BuildError`.

    A shim has nothing to strip or exclude. A partial wheel need not contain the files to exclude. A tree was already
    packed at its compression level.
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
        raise BuildError(what, where=cell.id, help=error.help or "change `pack` of the package") from error
    return record_without(draft, device_code_files(done.excluded), "excluded by `pack`")


def check_tools(package: Package, cell: Cell) -> None:
    """Raise `UsageError` if a program that `postprocess` will need is missing."""
    if package.pack.strip_debug and cell.arch and not cell.shim:
        find_strip(cell.arch)


def device_code_files(members: Iterable[str]) -> list[str]:
    """Return the members that a build may report as modules."""
    return [name for name in members if _CODE & set(Path(name).suffixes)]


def record_without(record: BuildRecord, members: Iterable[str], reason: str) -> BuildRecord:
    """Return the record of a wheel without these members: their modules move to ``excluded_modules``."""
    removed = sorted({Path(name).name.split(".")[0] for name in members})
    excluded = [*record.excluded_modules, *(ExcludedModule(name=name, reason=reason) for name in removed)]
    modules = [module for module in record.modules if module.name not in removed]
    return record.model_copy(update={"modules": modules, "excluded_modules": excluded})
