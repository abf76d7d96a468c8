"""The guard: a module in the wheel that checks whether the wheel covers the GPUs of the machine."""

from __future__ import annotations

from collections.abc import Callable

from fatwheel.declaration.model import Package
from fatwheel.errors import BuildError
from fatwheel.records.plan import Cell
from fatwheel.resources import script

_SCRIPT = "fits.py"
_NAME = 'DISTRIBUTION = ""'


def guard(cell: Cell, package: Package, exists: Callable[[str], bool]) -> dict[str, bytes]:
    """Return the module's content by its path in the wheel; empty for providers, whose shim contains it.

    ``exists`` returns whether the wheel has a member of a name. Raises `BuildError` if the path is taken or does not
    end in ``.py``.
    """
    place = package.guard
    if place is None or cell.toolkit is None or (package.layout == "provider" and not cell.shim):
        return {}
    if not place.endswith(".py") or exists(place):
        why = "the build made a file of this name" if place.endswith(".py") else "its name must end in .py"
        raise BuildError(f"invalid `guard` {place}: {why}", where=cell.id, help="choose another file name")
    text = script(_SCRIPT).read_text(encoding="utf-8")
    return {place: text.replace(_NAME, f'DISTRIBUTION = "{cell.package}"', 1).encode()}
