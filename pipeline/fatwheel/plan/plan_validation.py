"""Validate all cells of matrix.yaml: unique names, required coverage, and selections that match something."""

from __future__ import annotations

import fnmatch
import re
from collections import defaultdict
from collections.abc import Iterator

from packaging.utils import canonicalize_name
from packaging.version import Version

from fatwheel.declaration import Declaration
from fatwheel.declaration.checks.gpu import capability_diagnostic
from fatwheel.declaration.source import Path
from fatwheel.errors import Diagnostic
from fatwheel.plan.expand import Expansion, PlannedCell
from fatwheel.plan.selection import matches, select_cells, suggest_pattern
from fatwheel.targets import KNOWN_CAPABILITIES, Capability, dotted

# File systems allow 255 bytes; temporary names and record names (.X.whl.build.json) need some of them.
_LONGEST_NAME = 230

MATRIX_JOBS = 256
"""The maximum number of jobs in one GitHub Actions matrix."""

_PYTHON_TAG = re.compile(r"(py|cp|pp)[0-9]{1,3}(\.(py|cp|pp)[0-9]{1,3})*-[a-z]+[0-9]*t?(_[a-z0-9]+)*")


def validate_expansion(declaration: Declaration, expansion: Expansion) -> list[Diagnostic]:
    """Return all errors, each with its position."""
    return [
        *validate_cells(declaration, expansion),
        *_empty_packages(declaration, expansion),
        *_exclusions(declaration, expansion),
        *_selections(declaration, expansion),
        *_required_coverage(declaration, expansion),
    ]


def validate_cells(declaration: Declaration, expansion: Expansion) -> list[Diagnostic]:
    """Return the errors that do not depend on missing cells."""
    return [
        *_collisions(declaration, expansion),
        *_duplicate_distributions(declaration, expansion),
        *_invalid_names(declaration, expansion),
    ]


def _collisions(declaration: Declaration, expansion: Expansion) -> Iterator[Diagnostic]:
    """Yield IDs, artifacts and file names shared by two cells, ignoring case as some file systems do."""
    kinds = {
        "id": ("ID", "set `id` of one package, which prefixes the IDs of its cells"),
        "artifact": ("artifact", "set `id` of one package, which prefixes the IDs of its cells"),
        "wheel": ("file name", "add the axis in which they differ to local, tag or name"),
    }
    reported: set[frozenset[int]] = set()
    places: dict[tuple[str, int], int] = {}
    for what, (label, help) in kinds.items():
        owners: dict[str, list[tuple[int, PlannedCell]]] = defaultdict(list)
        for number, one in enumerate(expansion.planned):
            owners[getattr(one.cell, what).lower()].append((number, one))
        for sharers in owners.values():
            numbers = frozenset(number for number, _ in sharers)
            if len(sharers) < 2 or numbers in reported:
                continue
            reported.add(numbers)
            last = sharers[-1][1]
            places[what, last.index] = places.get((what, last.index), 0) + 1
            if places[what, last.index] > 1:  # report it once; the others have the same cause
                continue
            names = dict.fromkeys(f"{m.package.name} {m.cell.id}" if what == "id" else m.cell.id for _, m in sharers)
            who = " and ".join([*list(names)[:3], *([f"{len(names) - 3} more"] if len(names) > 3 else [])])
            text = f"{who} share the {label} {getattr(last.cell, what)}"
            yield declaration.source.diagnostic(("packages", last.index, "name"), text, help)


def _duplicate_distributions(declaration: Declaration, expansion: Expansion) -> Iterator[Diagnostic]:
    """Yield distributions that two packages make, and extras with the name of a provider wheel."""
    owners: dict[str, int] = {}
    shared: set[tuple[int, int]] = set()
    for one in expansion.planned:
        first = owners.setdefault(canonicalize_name(one.cell.package), one.index)
        if first != one.index and (first, one.index) not in shared:
            shared.add((first, one.index))
            other = declaration.packages[first].name
            what = f"both '{other}' and '{one.package.name}' make the distribution {one.cell.package}"
            yield declaration.source.diagnostic(("packages", one.index, "name"), what, "rename one of them")
    taken = {(m.index, m.cell.family) for m in expansion.planned if m.package.layout == "provider"}
    for place, package in enumerate(declaration.packages):
        for extra in package.extras:
            if (place, extra) in taken:
                what = f"the extra {extra} already selects the provider wheel {package.name}-{extra}"
                path: Path = ("packages", place, "extras", extra)
                yield declaration.source.diagnostic(path, what, "rename it", key=True)


def _invalid_names(declaration: Declaration, expansion: Expansion) -> Iterator[Diagnostic]:
    """Yield invalid labels and tags, names that are too long, and labels of wheels for PyPI."""
    source = declaration.source
    seen: set[tuple[str, int]] = set()
    for one in expansion.planned:
        path: Path = ("packages", one.index)
        local, tag = one.cell.local_version or "", "-".join(one.cell.wheel.rsplit("-", 3)[1:3])
        if local and ("local", one.index) not in seen:
            normal = _normal_label(local)
            if normal != local:
                seen.add(("local", one.index))
                help = f"it must result in {normal}" if normal else "use lowercase letters, digits and dots"
                what = f"local label '{local}' is not in normal form"
                yield source.diagnostic((*path, "local"), what, help)
        if local and one.package.publish == "pypi" and ("pypi", one.index) not in seen:
            seen.add(("pypi", one.index))
            what = f"PyPI rejects wheels with a local version label, but {one.cell.id} has +{local}"
            yield source.diagnostic((*path, "publish"), what, 'write local: "" or publish: store')
        if len(one.cell.wheel) > _LONGEST_NAME and ("length", one.index) not in seen:
            seen.add(("length", one.index))
            what = f"file name too long ({len(one.cell.wheel)} characters): {one.cell.wheel}"
            yield source.diagnostic((*path, "name"), what, f"shorten it to {_LONGEST_NAME} characters")
        if one.cell.wheel.endswith(".whl") and not _PYTHON_TAG.fullmatch(tag) and ("tag", one.index) not in seen:
            seen.add(("tag", one.index))
            dotted = next((a for a in one.cell.axes if f"{{{a}}}" in one.package.tag), None)
            threads = re.fullmatch(r"(cp[0-9]+)t-.*", tag)
            help = f"write {{{dotted}_nodot}} instead of {{{dotted}}}" if dotted else "e.g. cp312-cp312"
            help = f"only the ABI tag has the t: write {threads[1]}-{threads[1]}t" if threads else help
            yield source.diagnostic((*path, "tag"), f"invalid Python and ABI tag '{tag}'", help)


def _empty_packages(declaration: Declaration, expansion: Expansion) -> Iterator[Diagnostic]:
    """Yield packages without a cell."""
    for place in {*range(len(declaration.packages))} - {m.index for m in expansion.planned}:
        name = declaration.packages[place].name
        what = f"package {name} has no cells, or all of them are excluded"
        yield declaration.source.diagnostic(("packages", place, "name"), what, "declare targets for it, or remove it")


def _normal_label(local: str) -> str | None:
    try:
        return Version(f"0+{local}").local
    except ValueError:  # InvalidVersion, or Python's limit on digits
        return None


def _exclusions(declaration: Declaration, expansion: Expansion) -> Iterator[Diagnostic]:
    source = declaration.source
    for place, exclusion in enumerate(declaration.document.exclude):
        path: Path = ("exclude", place, "cells")
        if not any(fnmatch.fnmatchcase(i, exclusion.cells) for i in expansion.ids):
            what = f"'{exclusion.cells}' matches no cell"
            yield source.diagnostic(path, what, suggest_pattern(exclusion.cells, expansion.ids))
        elif place not in expansion.used and exclusion.targets is not None:
            listed = " ".join(map(str, exclusion.targets))
            where: Path = ("exclude", place, "targets")
            yield source.diagnostic(where, f"no cell of '{exclusion.cells}' has {listed}", "remove the exclusion")


def _selections(declaration: Declaration, expansion: Expansion) -> Iterator[Diagnostic]:
    """Yield globs without a match, empty channels, matrices with too many jobs, and unmet requirements."""
    source = declaration.source
    for name, channel in declaration.channels.items():
        known = True
        for place, pattern in enumerate(channel.select):
            if not any(fnmatch.fnmatchcase(i, pattern) for i in expansion.ids):
                known = False
                where: Path = ("channels", name, "select", place)
                yield source.diagnostic(where, f"'{pattern}' matches no cell", suggest_pattern(pattern, expansion.ids))
        chosen, unmet = select_cells(expansion, name, channel)
        if not chosen and known and expansion.planned:
            all_excluded = any(matches(row.id, channel.select) for row in expansion.excluded)
            help = (
                "all cells that it selects are excluded"
                if all_excluded
                else "add the channel to `channels` of a package"
            )
            yield source.diagnostic(("channels", name), f"channel {name} has no cells", help)
        if len(chosen) > MATRIX_JOBS:
            what = f"{len(chosen)} cells exceed the maximum of {MATRIX_JOBS} jobs in a GitHub Actions matrix"
            yield source.diagnostic(("channels", name), what, "select fewer cells, or split the file")
        for need in unmet:
            path: Path = ("packages", need.index, "needs")
            yield source.diagnostic(path, f"{name}: {need.what}", "select it in the channel, or remove it from needs")


def _required_coverage(declaration: Declaration, expansion: Expansion) -> Iterator[Diagnostic]:
    """Yield required capabilities that no cell, or no released cell, covers."""
    if not declaration.document.must_cover:
        return
    source = declaration.source
    released = {m.cell.id for m in select_cells(expansion, "release", declaration.document.channels.release)[0]}
    for place, required in enumerate(declaration.document.must_cover):
        meant = [m for m in expansion.planned if m.cell.targets and fnmatch.fnmatchcase(m.cell.id, required.cells)]
        path: Path = ("must_cover", place)
        if not meant:
            what = f"'{required.cells}' matches no CUDA cell"
            yield source.diagnostic(
                (*path, "cells"), what, suggest_pattern(required.cells, [c.id for c in expansion.cells if c.targets])
            )
        known = [c for c in required.capabilities if c in KNOWN_CAPABILITIES]
        for capability in [c for c in required.capabilities if c not in known]:
            what = f"no known GPU has compute capability {capability}"
            help = f"known: {' '.join(map(str, KNOWN_CAPABILITIES))}"
            yield capability_diagnostic(source, (*path, "capabilities"), capability, what, help)
        live = _covered(declaration, [m for m in meant if m.cell.id in released])
        for group, covered in _covered(declaration, meant).items():
            missing = [c for c in known if c not in covered]
            if missing:
                what = f"{group} does not cover {dotted(missing)}, required by must_cover"
                help = f"add a target that runs there, or remove {dotted(missing)} from must_cover"
                yield source.diagnostic((*path, "capabilities"), what, help)
            left = [c for c in known if c in covered and c not in live.get(group, covered)]
            if left:
                what = f"{group} covers {dotted(left)}, required by must_cover, only with cells that are not released"
                help = f"add those cells to the channel, or remove {dotted(left)} from must_cover"
                yield source.diagnostic(("channels", "release", "select"), what, help)


def _covered(declaration: Declaration, made: list[PlannedCell]) -> dict[str, set[Capability]]:
    """The coverage of each group of cells: one package, CUDA label and CPU architecture, all families."""
    groups: dict[str, set[Capability]] = defaultdict(set)
    for one in made:
        named = [one.package.name] if len(declaration.packages) > 1 else []
        axes = [f"{axis}{value}" for axis, value in one.cell.axes.items()]
        groups[" ".join([*named, str(one.cell.cuda), str(one.cell.arch), *axes])] |= set(one.cell.covers)
    return groups
