"""Expand axes, layouts and exclusions into all cells, before a channel selects some of them."""

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
    local_label,
    name_fields,
    other_axes,
    python_tag,
    sdist_name,
    wheel_file_name,
)
from fatwheel.records.plan import Cell, Excluded
from fatwheel.targets import Target, covers, render
from fatwheel.vocabulary import ARCHES, Arch

_covers = cache(covers)


@dataclass(frozen=True)
class PlannedCell:
    """A cell and its package. ``index``: of the package in matrix.yaml."""

    cell: Cell
    package: Package
    index: int


@dataclass(frozen=True)
class Expansion:
    """All cells of one version, and all exclusions. ``used``: indices of exclusions that matched something."""

    planned: list[PlannedCell]
    excluded: list[Excluded]
    used: frozenset[int] = field(default_factory=frozenset)

    @property
    def cells(self) -> list[Cell]:
        """The cells without their packages."""
        return [m.cell for m in self.planned]

    @property
    def ids(self) -> list[str]:
        """The IDs of all cells, including excluded ones."""
        return [*(m.cell.id for m in self.planned), *(row.id for row in self.excluded)]


@dataclass(frozen=True)
class _TargetGroup:
    """The targets of one wheel for a CUDA label and CPU architecture: a family, a single target, or all."""

    name: str  # sm9x, sm90a, all
    targets: tuple[Target, ...]
    majors: tuple[int, ...] | None


def expand(declaration: Declaration, version: str, only: Container[int] | None = None) -> Expansion:
    """Expand a `Declaration`, in the declared order of packages, CUDA labels, CPU architectures, families and axes.

    The shims of a provider package come last, one for each CUDA label; `fatwheel.plan.dependencies` adds what they
    require. ``only``: indices of the packages to expand.
    """
    planned: list[PlannedCell] = []
    excluded: list[Excluded] = []
    used: set[int] = set()
    for index, package in enumerate(declaration.packages):
        if only is not None and index not in only:
            continue
        of_package: list[PlannedCell] = []
        for axes in _axis_values(declaration, package):
            for group in _target_groups(declaration, package, axes):
                id_ = cell_id(package, axes, group.name if group else None)
                if group is not None and not group.targets:
                    reason = f"{axes['cuda']} {axes['arch']} has no target of {group.name}"
                    excluded.append(Excluded(id=id_, what="cell", reason=reason))
                    continue
                kept, rows, indices = _exclude(declaration, id_, group)
                excluded += rows
                used |= indices
                if kept is not None:
                    gpu = kept if isinstance(kept, _TargetGroup) else None
                    cell = _cell(declaration, package, axes, gpu, id_=id_, version=version)
                    of_package.append(PlannedCell(cell, package, index))
        if package.layout == "provider":
            for shim in _shims(declaration, package, of_package, version):
                kept, rows, indices = _exclude(declaration, shim.id, None)
                excluded += rows
                used |= indices
                of_package += [PlannedCell(shim, package, index)] if kept else []
        planned += of_package
    return Expansion(planned, excluded, frozenset(used))


def _axis_values(declaration: Declaration, package: Package) -> Iterator[dict[str, str]]:
    """Yield each combination of axis values, except CUDA labels and CPU architectures without targets."""
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


def _target_groups(declaration: Declaration, package: Package, axes: dict[str, str]) -> Iterator[_TargetGroup | None]:
    """Yield the targets of each wheel for a CUDA label and CPU architecture; None for a package without CUDA."""
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
    declaration: Declaration, id_: str, group: _TargetGroup | None
) -> tuple[_TargetGroup | bool | None, list[Excluded], set[int]]:
    """The targets that remain excluded targets (None if the cell is excluded), the exclusions, and their indices."""
    rows: list[Excluded] = []
    used: set[int] = set()
    kept = group
    for index, exclusion in enumerate(declaration.document.exclude):
        if not fnmatch.fnmatchcase(id_, exclusion.cells):
            continue
        if exclusion.targets is None:
            return None, [*rows, Excluded(id=id_, what="cell", reason=exclusion.reason)], {*used, index}
        excluded_targets = [t for t in exclusion.targets if kept is not None and t in kept.targets]
        if excluded_targets and kept is not None:
            used.add(index)
            rows += [Excluded(id=id_, what=str(t), reason=exclusion.reason) for t in excluded_targets]
            kept = _TargetGroup(kept.name, tuple(t for t in kept.targets if t not in excluded_targets), kept.majors)
    if kept is not None and kept.majors and not any(t.major in kept.majors for t in kept.targets):
        return None, [*rows, Excluded(id=id_, what="cell", reason="all native targets are excluded")], used
    if kept is not None and not kept.targets:
        return None, [*rows, Excluded(id=id_, what="cell", reason="all targets are excluded")], used
    return (True if kept is None else kept), rows, used


def _cell(
    declaration: Declaration,
    package: Package,
    axes: dict[str, str],
    gpu: _TargetGroup | None,
    *,
    id_: str,
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
        id=id_,
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
        wheel=sdist_name(name, full)
        if is_sdist
        else wheel_file_name(name, full, python_tag(package.tag, fields), platform),
        artifact=artifact_name(name, id_),
        image=cuda.image.get(arch) if cuda and arch else None,
        runner=document.runners.build.get(arch or "x86_64"),
        smoke=_smoke_runner(declaration, package, gpu, arch),
    )


def _arch(axes: dict[str, str]) -> Arch | None:
    return next((arch for arch in ARCHES if arch == axes.get("arch")), None)


def _smoke_runner(
    declaration: Declaration, package: Package, gpu: _TargetGroup | None, arch: Arch | None
) -> str | None:
    """The GPU runner of the cell's family; for a provider, of its target or of the family with its major."""
    if gpu is None or arch is None:
        return None
    document = declaration.document
    names = [gpu.name]
    if package.layout == "provider":
        names += [name for name, family in document.families.items() if gpu.targets[0].major in family.majors]
    return next((label for name in names if (label := document.runners.smoke.get(name, {}).get(arch))), None)


def _shims(declaration: Declaration, package: Package, providers: list[PlannedCell], version: str) -> Iterator[Cell]:
    """Yield the shims of provider wheels, usually one for each CUDA label."""
    document = declaration.document
    in_names = [a for a in document.axes if f"{{{a}" in package.name + (package.local or "")]
    seen: set[str] = set()
    for one in (m.cell for m in providers):
        axes = {"cuda": one.cuda or ""} | {a: v for a, v in one.axes.items() if a in in_names}
        id_ = cell_id(package, axes, "shim")
        if id_ in seen:
            continue
        seen.add(id_)
        fields = name_fields(axes, one.toolkit, None)
        name, local = fill(package.name, fields), local_label(package, fields)
        yield Cell(
            id=id_,
            package=name,
            version=version,
            cuda=one.cuda,
            toolkit=one.toolkit,
            arch=None,
            family=None,
            axes=other_axes(axes),
            local_version=local or None,
            wheel=wheel_file_name(name, f"{version}+{local}" if local else version, "py3-none", "any"),
            artifact=artifact_name(name, id_),
            image=None,
            runner=document.runners.build.get("x86_64"),
            smoke=None,
            shim=True,
        )
