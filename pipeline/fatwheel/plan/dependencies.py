"""What the packages of a set require of each other, exactly; and what a shim requires of its providers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from fatwheel.plan.expand import PlannedCell
from fatwheel.records.plan import Cell
from fatwheel.records.shim_requirements import Machine, Provider, requirements


@dataclass(frozen=True)
class UnmetRequirement:
    """A need that no cell, or no single distribution, meets. ``index``: the package's in the set."""

    index: int
    what: str


def resolve(
    made: list[PlannedCell], among: list[PlannedCell] | None = None
) -> tuple[list[PlannedCell], list[UnmetRequirement]]:
    """These cells with their requirements, met from ``among`` (themselves, if None); and the needs that nothing meets.

    A shim requires the providers that are made with it, and is left out where there are none.
    """
    pool = made if among is None else among
    found: list[PlannedCell] = []
    unmet: dict[UnmetRequirement, None] = {}
    for one in made:
        needs, extras = _met(one, one.package.needs, pool, unmet), {}
        if one.package.layout != "provider" or one.cell.shim:  # of providers, extras stand on the shim
            extras = {extra: _met(one, names, pool, unmet) for extra, names in one.package.extras.items()}
        if one.cell.shim:
            providers = _providers(one.cell, [m.cell for m in made if m.index == one.index and not m.cell.shim])
            if not providers:
                continue
            needs += list(providers.values()) if one.package.shim == "all" else []
            extras |= {name: [requirement] for name, requirement in providers.items()}
        cell = one.cell.model_copy(update={"requires": needs, "extras": extras}) if needs or extras else one.cell
        found.append(PlannedCell(cell, one.package, one.index))
    return found, list(unmet)


def _met(one: PlannedCell, names: list[str], pool: list[PlannedCell], unmet: dict[UnmetRequirement, None]) -> list[str]:
    found: list[str] = []
    for name in names:
        what = _requirement(one, name, pool)
        if isinstance(what, UnmetRequirement):
            unmet[what] = None
        else:
            found.append(what)
    return found


def _providers(shim: Cell, cells: list[Cell]) -> dict[str, str]:
    """Extra and requirement for each provider of a shim."""
    own = [c for c in cells if c.cuda == shim.cuda and shim.axes.items() <= c.axes.items()]
    return requirements([Provider(c.family or "", c.package, c.full_version, _machine(c)) for c in own])


def _machine(cell: Cell) -> Machine:
    """A free-threaded Python has the version of the other one, and a marker tells them apart no more than that."""
    python = re.fullmatch(r"(3\.[0-9]+)t?", cell.axes.get("python", ""))
    return cell.arch or "", python[1] if python else ""


def _requirement(one: PlannedCell, name: str, made: list[PlannedCell]) -> str | UnmetRequirement:
    """``name==version`` for what meets a need of a cell.

    With the label where exactly one distribution and label shares the cell's axes; else the public version, which
    every label of it satisfies.
    """
    wanted = [m for m in made if canonicalize_name(m.package.name) == canonicalize_name(name)]
    wanted = [m for m in wanted if m.cell.shim or m.package.layout != "provider"]
    if not wanted:
        return UnmetRequirement(one.index, f"{one.package.name} needs {name}, of which nothing is selected")
    near = [m.cell for m in wanted if _agree(one.cell, m.cell)]
    if not near:
        return UnmetRequirement(one.index, f"{one.package.name} needs {name}, which has no cell for {one.cell.id}")
    names = list(dict.fromkeys(c.package for c in near))
    if len(names) > 1:
        return UnmetRequirement(one.index, f"{one.package.name} needs {name}, which is {' or '.join(names)} there")
    versions = {c.full_version for c in near}
    full = versions.pop() if len(versions) == 1 and one.package.publish != "pypi" else near[0].version
    return f"{names[0]}=={full}"


def _agree(one: Cell, other: Cell) -> bool:
    """Whether nothing that both cells say of themselves differs."""
    pairs = [(one.cuda, other.cuda), (one.arch, other.arch), (one.family, other.family)]
    pairs += [(one.axes.get(axis), other.axes.get(axis)) for axis in {**one.axes, **other.axes}]
    return all(a == b for a, b in pairs if a is not None and b is not None)
