"""Validate the cells of an invalid declaration that its errors do not affect, to report all errors at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from fatwheel.declaration import Declaration
from fatwheel.declaration.source import Path
from fatwheel.errors import Diagnostic
from fatwheel.plan.expand import expand
from fatwheel.plan.plan_validation import validate_cells

# The sections that determine cells. An invalid exclusion might exclude cells that would be errors.
CELLS_FOLLOW = frozenset({"packages", "cuda", "families", "axes", "exclude"})


def validate_intact_cells(declaration: Declaration, errors: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Validate the cells of packages, labels, families and axes without errors.

    Never reports anything as missing, since an invalid part might contain it.
    """
    touched = {path for path in declaration.source.touched(errors) if path[:1] == () or path[0] in CELLS_FOLLOW}
    if any(len(path) < 2 or path[0] == "exclude" for path in touched):
        return []
    document = declaration.document
    parts = {
        "cuda": {label: cuda for label, cuda in document.cuda.items() if ("cuda", label) not in touched},
        "families": {name: one for name, one in document.families.items() if ("families", name) not in touched},
        "axes": {name: values for name, values in document.axes.items() if ("axes", name) not in touched},
    }
    rest = replace(declaration, document=document.model_copy(update=parts))
    intact = _intact_packages(rest, touched, every_cuda=not any(path[0] == "cuda" for path in touched))
    return validate_cells(rest, expand(rest, declaration.version, intact))


def _intact_packages(rest: Declaration, touched: Collection[Path], *, every_cuda: bool) -> set[int]:
    """The indices of packages whose cells are reliable. CPU architectures without CUDA come from all CUDA labels."""
    known = {"cuda", "arch", *rest.document.axes}
    return {
        place
        for place, package in enumerate(rest.packages)
        if ("packages", place) not in touched
        and set(package.per) <= known
        and (every_cuda or "cuda" in package.per or "arch" not in package.per)
    }
