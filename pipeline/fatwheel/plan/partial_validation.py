"""What holds of the plans of a declaration whatever else is wrong with it: it is said beside those other mistakes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from fatwheel.declaration import Declaration
from fatwheel.declaration.source import Path
from fatwheel.errors import Diagnostic
from fatwheel.plan.expand import expand
from fatwheel.plan.plan_validation import validate_cells

# What cells follow from. An exclusion with a mistake may be one that leaves out what else would be wrong.
CELLS_FOLLOW = frozenset({"packages", "cuda", "families", "axes", "exclude"})


def validate_intact_cells(declaration: Declaration, wrong: Iterable[Diagnostic]) -> list[Diagnostic]:
    """What is wrong with cells that no mistake has a part in: of packages, labels, families and axes without one.

    Nothing is said to be missing, since what has a mistake may hold it.
    """
    touched = {path for path in declaration.source.touched(wrong) if path[:1] == () or path[0] in CELLS_FOLLOW}
    if any(len(path) < 2 or path[0] == "exclude" for path in touched):
        return []
    document = declaration.document
    parts = {
        "cuda": {label: cuda for label, cuda in document.cuda.items() if ("cuda", label) not in touched},
        "families": {name: one for name, one in document.families.items() if ("families", name) not in touched},
        "axes": {name: values for name, values in document.axes.items() if ("axes", name) not in touched},
    }
    rest = replace(declaration, document=document.model_copy(update=parts))
    places = _sound_places(rest, touched, every_cuda=not any(path[0] == "cuda" for path in touched))
    return validate_cells(rest, expand(rest, declaration.version, places))


def _sound_places(rest: Declaration, touched: Collection[Path], *, every_cuda: bool) -> set[int]:
    """The packages whose cells are what they seem; CPU architectures alone come from all CUDA labels together."""
    known = {"cuda", "arch", *rest.document.axes}
    return {
        place
        for place, package in enumerate(rest.packages)
        if ("packages", place) not in touched
        and set(package.per) <= known
        and (every_cuda or "cuda" in package.per or "arch" not in package.per)
    }
