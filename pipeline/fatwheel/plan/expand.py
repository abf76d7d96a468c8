"""Every cell that a declaration makes, before any channel selects: axes, layouts, exclusions."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from functools import cache

from fatwheel.declaration import Declaration
from fatwheel.declaration.model import Package
from fatwheel.declaration.templates import fill
from fatwheel.plan.names import (
    artifact_name,
    cell_id,
    file_name,
    local_label,
    name_fields,
    other_axes,
    python_tag,
    sdist_name,
)
from fatwheel.records.plan import Cell, Excluded
from fatwheel.targets import Target, covers, render
from fatwheel.vocabulary import ARCHES, Arch

_covers = cache(covers)


@dataclass(frozen=True)
class PlannedCell:
    """A cell, and the package (its place in the set) that it comes from."""

    cell: Cell
    package: Package
    index: int


@dataclass(frozen=True)
class Expansion:
    """All cells for one version, and all that was left out; ``used``: the exclusions that did something."""

    made: list[PlannedCell]
    excluded: list[Excluded]
    used: frozenset[int] = field(default_factory=frozenset)

    @property
    def cells(self) -> list[Cell]:
        """The cells alone."""
        return [m.cell for m in self.made]

    @property
    def ids(self) -> list[str]:
        """Ids of the cells and of what was left out."""
        return [*(m.cell.id for m in self.made), *(row.id for row in self.excluded)]


@dataclass(frozen=True)
class _TargetGroup:
    """One GPU part of a CUDA and CPU pair: a family, a provider's target, or everything."""

    name: str  # sm9x, sm90a, all
    targets: tuple[Target, ...]
    majors: tuple[int, ...] | None


def expand(declaration: Declaration, version: str, only: Container[int] | None = None) -> Expansion:
    """Cells in the order of packages, CUDA labels, CPU architectures, families and further axes, as declared.

    A package of providers ends with its shims, one for each CUDA label; what they require comes with the selection
    (`fatwheel.plan.dependencies`). ``only``: the packages to be made, by their places in the set.
    """
    made: list[PlannedCell] = []
    excluded: list[Excluded] = []
    used: set[int] = set()
    for place, package in enumerate(declaration.packages):
        if only is not None and place not in only:
            continue
        own: list[PlannedCell] = []
        for axes in _axis_values(declaration, package):
            for part in _parts(declaration, package, axes):
                identity = cell_id(package, axes, part.name if part else None)
                if part is not None and not part.targets:
                    reason = f"{axes['cuda']} {axes['arch']} declares no target of {part.name}"
                    excluded.append(Excluded(id=identity, what="cell", reason=reason))
                    continue
                kept, rows, places = _exclude(declaration, identity, part)
                excluded += rows
                used |= places
                if kept is not None:
                    gpu = kept if isinstance(kept, _TargetGroup) else None
                    cell = _cell(declaration, package, axes, gpu, identity=identity, version=version)
                    own.append(PlannedCell(cell, package, place))
        if package.layout == "provider":
            for shim in _shims(declaration, package, own, version):
                kept, rows, places = _exclude(declaration, shim.id, None)
                excluded += rows
                used |= places
                own += [PlannedCell(shim, package, place)] if kept else []
        made += own
    return Expansion(made, excluded, frozenset(used))


def _axis_values(declaration: Declaration, package: Package) -> Iterator[dict[str, str]]:
    """One value for each axis of the package; CUDA and CPU pairs that declare no targets are not made."""
    document = declaration.document
    names = [a for a in ("cuda", "arch") if a in package.per] + [a for a in package.per if a in document.axes]
    arches = dict.fromkeys(arch for cuda in document.cuda.values() for arch in cuda.targets)
    values: dict[str, list[str]] = {
        "cuda": list(document.cuda),
        "arch": list(arches or document.runners.build),
        **document.axes,
    }
    for chosen in itertools.product(*(values[name] for name in names)):
        axes = dict(zip(names, chosen, strict=True))
        if "cuda" not in axes or axes["arch"] in document.cuda[axes["cuda"]].targets:
            yield axes


def _parts(declaration: Declaration, package: Package, axes: dict[str, str]) -> Iterator[_TargetGroup | None]:
    """The wheels that one CUDA and CPU pair is divided into; one None for a package without CUDA."""
    if "cuda" not in axes:
        yield None
        return
    document = declaration.document
    targets = next(t for a, t in document.cuda[axes["cuda"]].targets.items() if a == axes["arch"])
    if package.layout == "provider":
        for target in targets:
            yield _TargetGroup(render([target], "provider"), (target,), None)
    elif package.layout == "family":
        for name, family in document.families.items():
            native = tuple(t for t in targets if t.major in family.majors)
            based = tuple(sorted({*native, *(family.base or ())})) if native else ()
            yield _TargetGroup(name, based, tuple(family.majors))
    else:
        yield _TargetGroup("all", targets, None)


def _exclude(
    declaration: Declaration, identity: str, part: _TargetGroup | None
) -> tuple[_TargetGroup | bool | None, list[Excluded], set[int]]:
    """The part without excluded targets (None if the whole cell is excluded), the rows to show, the places used."""
    rows: list[Excluded] = []
    used: set[int] = set()
    kept = part
    for place, exclusion in enumerate(declaration.document.exclude):
        if not fnmatch.fnmatchcase(identity, exclusion.cells):
            continue
        if exclusion.targets is None:
            return None, [*rows, Excluded(id=identity, what="cell", reason=exclusion.reason)], {*used, place}
        gone = [t for t in exclusion.targets if kept is not None and t in kept.targets]
        if gone and kept is not None:
            used.add(place)
            rows += [Excluded(id=identity, what=str(t), reason=exclusion.reason) for t in gone]
            kept = _TargetGroup(kept.name, tuple(t for t in kept.targets if t not in gone), kept.majors)
    if kept is not None and kept.majors and not any(t.major in kept.majors for t in kept.targets):
        return None, [*rows, Excluded(id=identity, what="cell", reason="every native target is excluded")], used
    if kept is not None and not kept.targets:
        return None, [*rows, Excluded(id=identity, what="cell", reason="every target is excluded")], used
    return (True if kept is None else kept), rows, used


def _cell(
    declaration: Declaration,
    package: Package,
    axes: dict[str, str],
    gpu: _TargetGroup | None,
    *,
    identity: str,
    version: str,
) -> Cell:
    document = declaration.document
    label = axes.get("cuda")
    arch = _arch(axes)
    cuda = document.cuda[label] if label else None
    family = gpu.name if gpu and package.layout != "fat" else None
    fields = name_fields(axes, cuda.toolkit if cuda else None, family)
    name = fill(package.name, fields)
    if package.layout == "provider" and gpu:
        name = f"{name}-{gpu.name}"
    local = local_label(package, fields)
    platform = f"manylinux_{package.manylinux}_{arch}" if arch else "any"
    full = f"{version}+{local}" if local else version
    is_sdist = package.build.kind == "sdist"
    return Cell(
        id=identity,
        package=name,
        version=version,
        cuda=label,
        toolkit=cuda.toolkit if cuda else None,
        arch=arch,
        family=family,
        axes=other_axes(axes),
        targets=list(gpu.targets) if gpu else [],
        covers=list(_covers(gpu.targets, gpu.majors, cuda.toolkit)) if gpu and cuda else [],
        local_version=local or None,
        wheel=sdist_name(name, full) if is_sdist else file_name(name, full, python_tag(package.tag, fields), platform),
        artifact=artifact_name(name, identity),
        image=cuda.image.get(arch) if cuda and arch else None,
        runner=document.runners.build.get(arch or "x86_64"),
        smoke=_smoke_runner(declaration, package, gpu, arch),
    )


def _arch(axes: dict[str, str]) -> Arch | None:
    return next((arch for arch in ARCHES if arch == axes.get("arch")), None)


def _smoke_runner(
    declaration: Declaration, package: Package, gpu: _TargetGroup | None, arch: Arch | None
) -> str | None:
    """The GPU runner of the cell's family; of a provider's target, or the family that holds its major."""
    if gpu is None or arch is None:
        return None
    document = declaration.document
    names = [gpu.name]
    if package.layout == "provider":
        names += [name for name, family in document.families.items() if gpu.targets[0].major in family.majors]
    return next((label for name in names if (label := document.runners.smoke.get(name, {}).get(arch))), None)


def _shims(declaration: Declaration, package: Package, providers: list[PlannedCell], version: str) -> Iterator[Cell]:
    """One cell for each distribution and version that stands before providers: one for each CUDA label, as a rule."""
    document = declaration.document
    in_names = [a for a in document.axes if f"{{{a}" in package.name + (package.local or "")]
    seen: set[str] = set()
    for one in (m.cell for m in providers):
        axes = {"cuda": one.cuda or ""} | {a: v for a, v in one.axes.items() if a in in_names}
        identity = cell_id(package, axes, "shim")
        if identity in seen:
            continue
        seen.add(identity)
        fields = name_fields(axes, one.toolkit, None)
        name, local = fill(package.name, fields), local_label(package, fields)
        yield Cell(
            id=identity,
            package=name,
            version=version,
            cuda=one.cuda,
            toolkit=one.toolkit,
            arch=None,
            family=None,
            axes=other_axes(axes),
            local_version=local or None,
            wheel=file_name(name, f"{version}+{local}" if local else version, "py3-none", "any"),
            artifact=artifact_name(name, identity),
            image=None,
            runner=document.runners.build.get("x86_64"),
            smoke=None,
            shim=True,
        )
