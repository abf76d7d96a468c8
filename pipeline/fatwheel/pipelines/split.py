"""Split a fat wheel by the cells in matrix.yaml, and write the build records of the parts."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

from fatwheel.building.postprocess import without
from fatwheel.building.product import with_digest
from fatwheel.building.restamp import restamped
from fatwheel.declaration import Declaration
from fatwheel.declaration.model import Package
from fatwheel.errors import UsageError
from fatwheel.plan import make_plan
from fatwheel.records.build import BuildRecord
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.plan import Cell
from fatwheel.records.split import SplitPart
from fatwheel.wheels.formats.wheel_name import WheelName, architecture
from fatwheel.wheels.making.split import PartSpec
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.read_embedded import read_embedded


def find_cells(declaration: Declaration, wheel: Path, by: str | None) -> tuple[Package, list[Cell]]:
    """The package of a fat wheel, and the cells to split it into; for a part of a fat wheel, its own cell.

    ``by`` is "family" or "target"; None follows the layout of the package. Raises `UsageError` if matrix.yaml has no
    such package, version, CUDA label or CPU architecture.
    """
    name = WheelName.parse(wheel.name)
    package = declaration.package(str(name.distribution))
    layout: Literal["family", "provider"] = "provider" if by == "target" else "family"
    if by is None and package.layout == "provider":
        layout = "provider"
    cells = _plan_cells(_with_layout(declaration, package, layout), package)
    own = [cell for cell in cells if cell.wheel == wheel.name]
    if own:
        return package, own
    label = (name.version.local or "").split(".")[0]
    arches = {arch for platform in name.platforms if (arch := architecture(platform))}
    found = [
        cell
        for cell in cells
        if cell.version == name.version.public and cell.cuda == label and cell.arch in arches and not cell.shim
    ]
    if not found:
        known = sorted({f"{cell.version}+{cell.cuda} {cell.arch}" for cell in cells if not cell.shim})
        raise UsageError(
            f"no cells in {declaration.path.name} for version {name.version.public}, CUDA label '{label}' and "
            f"{' '.join(sorted(arches)) or 'any CPU'}",
            where=wheel.name,
            help=f"it has {', '.join(known)}; the local version of the wheel must start with the CUDA label",
        )
    return package, found


def _with_layout(declaration: Declaration, package: Package, layout: str) -> Declaration:
    changed = [p.model_copy(update={"layout": layout}) if p is package else p for p in declaration.packages]
    return dataclasses.replace(declaration, document=declaration.document.model_copy(update={"packages": changed}))


def _plan_cells(declaration: Declaration, package: Package) -> list[Cell]:
    found: dict[str, Cell] = {}
    for channel in declaration.channels:
        for cell in make_plan(declaration, channel).cells:
            if declaration.package(cell.package).name == package.name:
                found.setdefault(cell.wheel, cell)
    return list(found.values())


def make_spec(cell: Cell, package: Package, wheel: Path, built: BuildRecord | None) -> PartSpec:
    """The part for a cell; commit and modules come from the build record or embedded metadata of the fat wheel."""
    with Archive.open(wheel) as archive:
        fat = read_embedded(archive, invalid="ignore")
    commit = built.commit if built else fat.commit if fat else None
    modules = built.slice if built else fat.slice if fat else None
    return PartSpec(
        cell=cell.id,
        wheel=cell.wheel,
        embedded=EmbeddedMetadata.of(cell, commit=commit, modules=modules),
        rewrite=lambda names, read: restamped(names, read, package.stamp, cell),
    )


def part_record(wheel: Path, part: SplitPart, built: BuildRecord, cell: Cell) -> BuildRecord:
    """The build record of a part: that of the fat wheel, with the cell, size, digest and modules of the part."""
    targets = set(cell.targets)
    kept = without(built, part.dropped, "its device code is for other families")
    modules = [
        module.model_copy(update={"targets": [target for target in module.targets if target in targets]})
        for module in kept.modules
    ]
    return with_digest(wheel, kept.model_copy(update={"cell": cell, "modules": modules}))
