"""Requirements whose versions follow from a cell: ``torch=={torch}.*``."""

from __future__ import annotations

from collections.abc import Sequence

from fatwheel.declaration.templates import fill
from fatwheel.plan.names import name_fields
from fatwheel.records.plan import Cell


def fill_requirements(requirements: Sequence[str], cell: Cell) -> list[str]:
    """Requirements with the cell's axes, CUDA and CPU put in for their fields."""
    axes = {**cell.axes, "cuda": cell.cuda or "", "arch": cell.arch or ""}
    values = {**name_fields(axes, cell.toolkit, cell.family), "toolkit": cell.toolkit or ""}
    return [fill(requirement, values) for requirement in requirements]
