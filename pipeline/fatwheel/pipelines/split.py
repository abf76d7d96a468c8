"""Split a fat wheel by the cells in matrix.yaml, and write the build records of the parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from fatwheel.building.postprocess import record_without
from fatwheel.building.product import with_digest
from fatwheel.building.restamp import restamped_files
from fatwheel.declaration import Declaration
from fatwheel.declaration.model import Package
from fatwheel.errors import UsageError
from fatwheel.pipelines.repack import build_record
from fatwheel.plan import make_plan
from fatwheel.processes import terminable
from fatwheel.records.build import BuildRecord
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import BUILD, beside
from fatwheel.records.plan import Cell
from fatwheel.records.split import SplitPart, SplitRecord
from fatwheel.wheels.formats.wheel_name import WheelName, parse_architecture
from fatwheel.wheels.making.split import PartSpec, split
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
    arches = {arch for platform in name.platforms if (arch := parse_architecture(platform))}
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


def make_specs(cells: Sequence[Cell], package: Package, wheel: Path, built: BuildRecord | None) -> list[PartSpec]:
    """The part for each cell; commit and modules come from the build record or embedded metadata of the fat wheel."""
    fat: BuildRecord | EmbeddedMetadata | None = built
    if built is None:
        with Archive.open(wheel) as archive:
            fat = read_embedded(archive, invalid="ignore")
    commit, modules = (fat.commit, fat.slice) if fat else (None, None)
    return [_make_spec(cell, package, commit, modules) for cell in cells]


def _make_spec(cell: Cell, package: Package, commit: str | None, modules: list[str] | None) -> PartSpec:
    return PartSpec(
        cell=cell.id,
        wheel=cell.wheel,
        embedded=EmbeddedMetadata.of(cell, commit=commit, modules=modules),
        rewrite=lambda names, read: restamped_files(names, read, package.stamp, cell),
    )


def part_record(wheel: Path, part: SplitPart, built: BuildRecord, cell: Cell) -> BuildRecord:
    """The build record of a part: that of the fat wheel, with the cell, size, digest and modules of the part."""
    targets = set(cell.targets)
    kept = record_without(built, part.dropped, "its device code is for other families")
    modules = [
        module.model_copy(update={"targets": [target for target in module.targets if target in targets]})
        for module in kept.modules
    ]
    return with_digest(wheel, kept.model_copy(update={"cell": cell, "modules": modules}))


def split_wheel(
    declaration: Declaration, wheel: Path, output: Path, *, by: str | None, only: str | None
) -> tuple[SplitRecord, bool]:
    """Split a fat wheel into the wheels of its cells, with the build record of each if the fat wheel has one.

    ``by`` is "family" or "target", by default the package's layout; ``only`` is a glob of cell IDs. The second value
    is whether the wheels are different distributions that install the same files. Raises `UsageError` for a wheel that
    matrix.yaml does not declare, `VerificationError` for one that cannot be split safely.
    """
    package, cells = find_cells(declaration, wheel, by)
    built = build_record(wheel)
    by_id = {cell.id: cell for cell in cells}
    parts = make_specs(cells, package, wheel, built)
    done: list[SplitPart] = []
    with terminable():
        for part in split(wheel, parts, output, empty=package.empty_modules, only=only):
            done.append(part)
            if built:
                made = output / part.wheel
                part_record(made, part, built, by_id[part.cell]).write(beside(made, BUILD))
    same_files = len({part.embedded.distribution for part in parts}) > 1 and any(one.filtered for one in done)
    return SplitRecord(wheel=wheel.name, bytes=wheel.stat().st_size, parts=done), same_files
