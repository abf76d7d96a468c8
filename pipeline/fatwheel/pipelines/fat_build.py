"""Building once for all targets of a CUDA label and CPU, and dividing that into the wheels of its cells."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fatwheel.errors import PipelineError

if TYPE_CHECKING:
    from fatwheel.declaration import Declaration
    from fatwheel.declaration.model import Package
    from fatwheel.records.build import BuildRecord
    from fatwheel.records.plan import Cell

Build = Callable[["Cell", Path], "BuildRecord"]


def groups(declaration: Declaration, wanted: Sequence[Cell], every: Sequence[Cell]) -> Iterator[list[Cell]]:
    """The cells of ``every`` that one build makes, for each such build that makes any of ``wanted``.

    Cells of packages that are not split stand alone.
    """
    done: set[str] = set()
    for cell in wanted:
        if cell.id in done:
            continue
        same = [one for one in every if _key(one) == _key(cell)] if _splits(declaration, cell) else [cell]
        done |= {one.id for one in same}
        yield same


def _splits(declaration: Declaration, cell: Cell) -> bool:
    return declaration.package(cell.package).build.split and bool(cell.targets) and not cell.shim


def _key(cell: Cell) -> tuple[object, ...]:
    name = cell.package.removesuffix(f"-{cell.family}")
    return name, cell.version, cell.cuda, cell.arch, cell.shim, tuple(sorted(cell.axes.items()))


def whole(package: Package, cells: Sequence[Cell]) -> Cell:
    """The cell of the build that holds all of these: every target, and no family."""
    from fatwheel.wheels.formats.wheel_name import WheelName

    first = cells[0]
    targets = sorted({target for cell in cells for target in cell.targets})
    covers = {text for cell in cells for text in cell.covers}
    local = first.cuda
    name = WheelName.parse(first.wheel)
    own = first.package.removesuffix(f"-{first.family}") if package.layout == "provider" else first.package
    file = WheelName.of(own, f"{first.version}+{local}", name.tag_text).text
    identity = first.id.replace(f"-{first.family}", "-all")
    return first.model_copy(
        update={
            "id": identity, "package": own, "family": None, "local_version": local, "wheel": file,
            "targets": [str(target) for target in targets], "artifact": f"{own}-{identity}",
            "covers": sorted(covers, key=lambda text: tuple(map(int, text.split(".")))),
        }
    )  # fmt: skip


def divided(
    declaration: Declaration, cells: Sequence[Cell], chosen: Sequence[Cell], output: Path, build: Build
) -> Iterator[tuple[Cell, BuildRecord | PipelineError]]:
    """Build all of ``cells`` at once, and write the wheels of those ``chosen`` to ``output``, each verified.

    A part that is not right does not keep the others from being written. Raises `PipelineError` where there is no fat
    wheel, or it cannot be divided.
    """
    from fatwheel.building.product import publish, verify_built_wheel
    from fatwheel.pipelines.split import part_of, part_record
    from fatwheel.wheels.io.compression import DEFAULT_LEVEL
    from fatwheel.wheels.making.split import split

    package = declaration.package(cells[0].package)
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output, prefix=".building-") as name:
        folder = Path(name)
        fat = whole(package, cells)
        built = build(fat, folder / "fat")
        wheel = folder / "fat" / built.wheel
        parts = [part_of(cell, package, wheel, built) for cell in cells]
        wanted = {cell.id: cell for cell in chosen}
        for one in split(wheel, parts, folder, empty=package.empty_modules, level=package.pack.level or DEFAULT_LEVEL):
            cell = wanted.get(one.cell)
            if cell is None:
                continue
            record = part_record(folder / one.wheel, one, built, cell).model_copy(update={"split_from": built.wheel})
            try:
                verify_built_wheel(folder / one.wheel, record, package)
            except PipelineError as error:
                yield cell, error
                continue
            publish(folder / one.wheel, record, output)
            yield cell, record
