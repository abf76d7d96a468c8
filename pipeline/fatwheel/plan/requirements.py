"""Replace fields in requirements: ``torch=={torch}.*``."""

from __future__ import annotations

from collections.abc import Sequence

from fatwheel.declaration.templates import fill
from fatwheel.plan.names import name_fields
from fatwheel.records.plan import Cell


def fill_requirements(requirements: Sequence[str], cell: Cell) -> list[str]:
    """Replace the fields of requirements with the axes, CUDA label and CPU architecture of a cell."""
    axes = {**cell.axes, "cuda": cell.cuda or "", "arch": cell.arch or ""}
    values = {**name_fields(axes, cell.toolkit, cell.family), "toolkit": cell.toolkit or ""}
    return [fill(requirement, values) for requirement in requirements]
