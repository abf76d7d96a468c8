"""Every cell that a declaration makes, before any channel selects: axes, layouts, exclusions, names."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from packaging.utils import canonicalize_name

from pipeline.declaration import Declaration
from pipeline.declaration.model import Package
from pipeline.declaration.templates import axis_fields, fill
from pipeline.records.plan import Cell, Excluded
from pipeline.targets import Target, covers, render

_covers = cache(covers)


@dataclass(frozen=True)
class Expansion:
    """All cells for one version, and all that was left out; ``used``: the exclusions that did something."""

    cells: list[Cell]
    excluded: list[Excluded]
    used: frozenset[int] = field(default_factory=frozenset)


@dataclass(frozen=True)
class _Part:
    """One GPU part of a CUDA and CPU pair: a family, a provider's target, or everything."""

    name: str  # sm9x, sm90a, all
    targets: tuple[Target, ...]
    majors: tuple[int, ...] | None


def expand(declaration: Declaration, version: str) -> Expansion:
    """Cells in the order of packages, CUDA labels, CPU architectures, families and further axes, as declared."""
    cells: list[Cell] = []
    excluded: list[Excluded] = []
    used: set[int] = set()
    for package in declaration.packages:
        for axes in _axis_values(declaration, package):
            for part in _parts(declaration, package, axes):
                cell_id = _cell_id(package, axes, part)
                if part is not None and not part.targets:
                    pair = f"{axes['cuda']} {axes['arch']}"
                    excluded.append(
                        Excluded(id=cell_id, what="cell", reason=f"{pair} declares no target of {part.name}")
                    )
                    continue
                kept, rows, places = _exclude(declaration, cell_id, part)
                excluded += rows
                used |= places
                if kept is not None:
                    cells.append(_cell(declaration, package, axes, kept, cell_id=cell_id, version=version))
    return Expansion(cells, excluded, frozenset(used))


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


def _parts(declaration: Declaration, package: Package, axes: dict[str, str]) -> Iterator[_Part | None]:
    """The wheels that one CUDA and CPU pair is divided into; one None for a package without CUDA."""
    if "cuda" not in axes:
        yield None
        return
    document = declaration.document
    targets = next(t for a, t in document.cuda[axes["cuda"]].targets.items() if a == axes["arch"])
    if package.layout == "provider":
        for target in targets:
            yield _Part(render([target], "provider"), (target,), None)
    elif package.layout == "family":
        for name, family in document.families.items():
            native = tuple(t for t in targets if t.major in family.majors)
            based = tuple(sorted({*native, *(family.base or ())})) if native else ()
            yield _Part(name, based, tuple(family.majors))
    else:
        yield _Part("all", targets, None)


def _cell_id(package: Package, axes: dict[str, str], part: _Part | None) -> str:
    pieces = [axes[name] for name in ("cuda", "arch") if name in axes]
    if part is not None:
        pieces.append(part.name)
    pieces += [f"{name}{value}" for name, value in axes.items() if name not in ("cuda", "arch")]
    if not pieces:
        return package.id or canonicalize_name(package.name)
    return (f"{package.id}-" if package.id else "") + "-".join(pieces)


def _exclude(
    declaration: Declaration, cell_id: str, part: _Part | None
) -> tuple[_Part | bool | None, list[Excluded], set[int]]:
    """The part without excluded targets (None if the whole cell is excluded), the rows to show, the places used."""
    rows: list[Excluded] = []
    used: set[int] = set()
    kept = part
    for place, exclusion in enumerate(declaration.document.exclude):
        if not fnmatch.fnmatchcase(cell_id, exclusion.cells):
            continue
        if exclusion.targets is None:
            return None, [Excluded(id=cell_id, what="cell", reason=exclusion.reason)], {place}
        gone = [t for t in exclusion.targets if kept is not None and t in kept.targets]
        if gone and kept is not None:
            used.add(place)
            rows += [Excluded(id=cell_id, what=str(t), reason=exclusion.reason) for t in gone]
            kept = _Part(kept.name, tuple(t for t in kept.targets if t not in gone), kept.majors)
    if kept is not None and kept.majors and not any(t.major in kept.majors for t in kept.targets):
        return None, [*rows, Excluded(id=cell_id, what="cell", reason="every native target is excluded")], used
    if kept is not None and not kept.targets:
        return None, [*rows, Excluded(id=cell_id, what="cell", reason="every target is excluded")], used
    return (True if kept is None else kept), rows, used


def _cell(
    declaration: Declaration, package: Package, axes: dict[str, str], part: _Part | bool, *, cell_id: str, version: str
) -> Cell:
    document = declaration.document
    gpu = part if isinstance(part, _Part) else None
    label = axes.get("cuda")
    arch = next((a for a in ("x86_64", "aarch64") if a == axes.get("arch")), None)
    cuda = document.cuda[label] if label else None
    family = gpu.name if gpu and package.layout != "fat" else None
    extra = {name: value for name, value in axes.items() if name not in ("cuda", "arch")}
    names = {
        **axis_fields(extra),
        "cuda": label or "",
        "cuda_major": cuda.toolkit.split(".")[0] if cuda else "",
        "arch": arch or "",
        "family": family or "",
    }
    name = fill(package.name, names)
    if package.layout == "provider" and gpu:
        name = f"{name}-{gpu.name}"
    local = _local(package, names)
    platform = f"manylinux_{package.manylinux}_{arch}" if arch else "any"
    full = f"{version}+{local}" if local else version
    file_name = f"{canonicalize_name(name).replace('-', '_')}-{full}-{fill(package.tag, names)}-{platform}.whl"
    artifact_base = canonicalize_name(name)
    return Cell(
        id=cell_id,
        package=name,
        version=version,
        cuda=label,
        toolkit=cuda.toolkit if cuda else None,
        arch=arch,
        family=family,
        axes=extra,
        targets=[str(t) for t in gpu.targets] if gpu else [],
        covers=[str(c) for c in _covers(gpu.targets, gpu.majors, cuda.toolkit)] if gpu and cuda else [],
        local_version=local or None,
        wheel=file_name,
        artifact=artifact_base if cell_id == artifact_base else f"{artifact_base}-{cell_id}",
        image=cuda.image.get(arch) if cuda and arch else None,
        runner=document.runners.build.get(arch or "x86_64"),
        smoke=document.runners.smoke.get(family or "all", {}).get(arch) if arch else None,
    )


def _local(package: Package, names: dict[str, str]) -> str:
    """The local label: as declared, else ``cu130.sm12x`` for families, ``cu130`` for providers and fat wheels."""
    if package.local is not None:
        return fill(package.local, names)
    if package.layout == "family":
        return f"{names['cuda']}.{names['family']}"
    return names["cuda"] if package.layout else ""
