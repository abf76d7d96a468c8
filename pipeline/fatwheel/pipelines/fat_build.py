"""Build all targets of a CUDA label and CPU at once, and split the fat wheel into the wheels of its cells."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from fatwheel.building.product import publish, verify_built_wheel
from fatwheel.declaration import Declaration
from fatwheel.declaration.model import Package
from fatwheel.errors import PipelineError
from fatwheel.pipelines.split import make_specs, part_record
from fatwheel.records.build import BuildRecord
from fatwheel.records.plan import Cell
from fatwheel.wheels.formats.wheel_name import WheelName
from fatwheel.wheels.io.compression import DEFAULT_LEVEL
from fatwheel.wheels.making.split import split

BuildCell = Callable[[Cell, Path], BuildRecord]
"""Builds the wheel of a cell in a folder."""


def group_cells(declaration: Declaration, chosen: Sequence[Cell], every: Sequence[Cell]) -> Iterator[list[Cell]]:
    """The cells of each build that makes any of ``chosen``; ``every`` are the cells to group.

    A cell of a package that is not split is a group of its own.
    """
    done: set[str] = set()
    for cell in chosen:
        if cell.id in done:
            continue
        same = [one for one in every if _key(one) == _key(cell)] if _is_split(declaration, cell) else [cell]
        done |= {one.id for one in same}
        yield same


def _is_split(declaration: Declaration, cell: Cell) -> bool:
    return declaration.package(cell.package).build.split and bool(cell.targets) and not cell.shim


def _key(cell: Cell) -> tuple[object, ...]:
    name = cell.package.removesuffix(f"-{cell.family}")
    return name, cell.version, cell.cuda, cell.arch, cell.shim, tuple(sorted(cell.axes.items()))


def make_fat_cell(package: Package, cells: Sequence[Cell]) -> Cell:
    """The cell of the build that makes all of ``cells``: their targets together, and no family."""
    first = cells[0]
    own = first.package.removesuffix(f"-{first.family}") if package.layout == "provider" else first.package
    tags = WheelName.parse(first.wheel).tag_text
    identity = first.id.replace(f"-{first.family}", "-all")
    return first.model_copy(
        update={
            "id": identity, "package": own, "family": None, "local_version": first.cuda,
            "wheel": WheelName.of(own, f"{first.version}+{first.cuda}", tags).text, "artifact": f"{own}-{identity}",
            "targets": sorted({target for cell in cells for target in cell.targets}),
            "covers": sorted({capability for cell in cells for capability in cell.covers}),
        }
    )  # fmt: skip


def build_and_split(
    declaration: Declaration, cells: Sequence[Cell], chosen: Sequence[Cell], output: Path, build: BuildCell
) -> Iterator[tuple[Cell, BuildRecord | PipelineError]]:
    """Build ``cells`` together, and write the wheels of ``chosen`` to ``output``, each verified.

    An invalid wheel is yielded as an error, and the others are still written. Raises `PipelineError` if the fat wheel
    cannot be built or split.
    """
    package = declaration.package(cells[0].package)
    level = DEFAULT_LEVEL if package.pack.level is None else package.pack.level
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output, prefix=".building-") as name:
        folder = Path(name)
        built = build(make_fat_cell(package, cells), folder / "fat")
        wheel = folder / "fat" / built.wheel
        parts = make_specs(cells, package, wheel, built)
        by_id = {cell.id: cell for cell in chosen}
        for part in split(wheel, parts, folder, empty=package.empty_modules, level=level):
            cell = by_id.get(part.cell)
            if cell is None:
                continue
            record = part_record(folder / part.wheel, part, built, cell).model_copy(update={"split_from": built.wheel})
            try:
                verify_built_wheel(folder / part.wheel, record, package)
            except PipelineError as error:
                yield cell, error
                continue
            publish(folder / part.wheel, record, output)
            yield cell, record
