"""The module in a wheel that tells whether it fits the GPUs that are there."""

from __future__ import annotations

from collections.abc import Callable

from fatwheel.declaration.model import Package
from fatwheel.errors import BuildError
from fatwheel.records.plan import Cell
from fatwheel.resources import script

_SCRIPT = "fits.py"
_NAME = 'DISTRIBUTION = ""'


def guard(cell: Cell, package: Package, there: Callable[[str], bool]) -> dict[str, bytes]:
    """The module by its place in the wheel; none for providers, whose shim has it.

    ``there`` tells whether the wheel has a member of that name already.
    Raises `BuildError` where the place is taken or is no module's.
    """
    place = package.guard
    if place is None or cell.toolkit is None or (package.layout == "provider" and not cell.shim):
        return {}
    if not place.endswith(".py") or there(place):
        why = "the build left a file there" if place.endswith(".py") else "a module ends in .py"
        raise BuildError(f"`guard` cannot be {place}: {why}", where=cell.id, help="name another file")
    text = script(_SCRIPT).read_text(encoding="utf-8")
    return {place: text.replace(_NAME, f'DISTRIBUTION = "{cell.package}"', 1).encode()}
