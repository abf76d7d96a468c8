"""Resolve the requirements of packages on each other, and of shims on their provider wheels."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from fatwheel.plan.expand import PlannedCell
from fatwheel.records.plan import Cell
from fatwheel.records.shim_requirements import Machine, Provider, requirements


@dataclass(frozen=True)
class UnmetRequirement:
    """A requirement without exactly one matching distribution. ``index``: of the package in matrix.yaml."""

    index: int
    what: str


def resolve_requirements(
    made: list[PlannedCell], among: list[PlannedCell] | None = None
) -> tuple[list[PlannedCell], list[UnmetRequirement]]:
    """Add requirements to cells, resolved among other cells (themselves if None). Returns also the unmet ones.

    A shim requires the provider wheels among the given cells; without any, it is dropped.
    """
    pool = made if among is None else among
    found: list[PlannedCell] = []
    unmet: dict[UnmetRequirement, None] = {}
    for one in made:
        needs, extras = _resolve_needs(one, one.package.needs, pool, unmet), {}
        if one.package.layout != "provider" or one.cell.shim:  # the extras of a provider package belong to its shim
            extras = {extra: _resolve_needs(one, names, pool, unmet) for extra, names in one.package.extras.items()}
        if one.cell.shim:
            providers = _provider_requirements(
                one.cell, [m.cell for m in made if m.index == one.index and not m.cell.shim]
            )
            if not providers:
                continue
            needs += list(providers.values()) if one.package.shim == "all" else []
            extras |= {name: [requirement] for name, requirement in providers.items()}
        cell = one.cell.model_copy(update={"requires": needs, "extras": extras}) if needs or extras else one.cell
        found.append(PlannedCell(cell, one.package, one.index))
    return found, list(unmet)


def _resolve_needs(
    one: PlannedCell, names: list[str], pool: list[PlannedCell], unmet: dict[UnmetRequirement, None]
) -> list[str]:
    found: list[str] = []
    for name in names:
        what = _requirement(one, name, pool)
        if isinstance(what, UnmetRequirement):
            unmet[what] = None
        else:
            found.append(what)
    return found


def _provider_requirements(shim: Cell, cells: list[Cell]) -> dict[str, str]:
    """The requirement on each provider wheel of a shim, by extra."""
    own = [c for c in cells if c.cuda == shim.cuda and shim.axes.items() <= c.axes.items()]
    return requirements([Provider(c.family or "", c.package, c.full_version, _machine(c)) for c in own])


def _machine(cell: Cell) -> Machine:
    """The CPU architecture and Python version. Markers cannot distinguish free-threaded Pythons."""
    python = re.fullmatch(r"(3\.[0-9]+)t?", cell.axes.get("python", ""))
    return cell.arch or "", python[1] if python else ""


def _requirement(one: PlannedCell, name: str, made: list[PlannedCell]) -> str | UnmetRequirement:
    """``name==version`` of the distribution that a cell requires.

    With the local label if exactly one distribution and label matches the cell's axes. Otherwise the public version,
    which wheels with any label satisfy.
    """
    candidates = [m for m in made if canonicalize_name(m.package.name) == canonicalize_name(name)]
    candidates = [m for m in candidates if m.cell.shim or m.package.layout != "provider"]
    if not candidates:
        return UnmetRequirement(one.index, f"{one.package.name} needs {name}, but no cell of {name} is selected")
    near = [m.cell for m in candidates if _compatible(one.cell, m.cell)]
    if not near:
        return UnmetRequirement(one.index, f"{one.package.name} needs {name}, which has no cell matching {one.cell.id}")
    names = list(dict.fromkeys(c.package for c in near))
    if len(names) > 1:
        return UnmetRequirement(one.index, f"{one.package.name} needs {name}, which is ambiguous: {' or '.join(names)}")
    versions = {c.full_version for c in near}
    full = versions.pop() if len(versions) == 1 and one.package.publish != "pypi" else near[0].version
    return f"{names[0]}=={full}"


def _compatible(one: Cell, other: Cell) -> bool:
    """Whether two cells agree on all axes that both have."""
    pairs = [(one.cuda, other.cuda), (one.arch, other.arch), (one.family, other.family)]
    pairs += [(one.axes.get(axis), other.axes.get(axis)) for axis in {**one.axes, **other.axes}]
    return all(a == b for a, b in pairs if a is not None and b is not None)
