"""Why the plans of a declaration cannot stand: names that collide, promises that break, selections that are empty."""

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

# What file systems take, 255 bytes, less what is put around the name of a wheel: .X.whl.build.json, a random part.
_LONGEST_NAME = 230

# The most jobs that one GitHub Actions matrix may hold.
MATRIX_JOBS = 256

_PYTHON_TAG = re.compile(r"(py|cp|pp)[0-9]{1,3}(\.(py|cp|pp)[0-9]{1,3})*-[a-z]+[0-9]*t?(_[a-z0-9]+)*")


def validate_expansion(declaration: Declaration, everything: Expansion) -> list[Diagnostic]:
    """All of them, each at its place in the file."""
    return [
        *validate_cells(declaration, everything),
        *_empty(declaration, everything),
        *_exclusions(declaration, everything),
        *_selections(declaration, everything),
        *_promises(declaration, everything),
    ]


def validate_cells(declaration: Declaration, everything: Expansion) -> list[Diagnostic]:
    """Those that are there whatever other cells there are."""
    return [
        *_collisions(declaration, everything),
        *_owners(declaration, everything),
        *_forms(declaration, everything),
    ]


def _collisions(declaration: Declaration, everything: Expansion) -> Iterator[Diagnostic]:
    """Ids, artifacts and file names that two cells share; upper and lower case are one, as on some file systems."""
    remedies = {
        "id": ("id", "give one package an id:, which is put before its cells' ids"),
        "artifact": ("artifact", "give one package an id:, which is put before its cells' ids"),
        "wheel": ("file name", "put the axis that tells them apart into local:, tag: or name:"),
    }
    reported: set[frozenset[int]] = set()
    places: dict[tuple[str, int], int] = {}
    for what, (spoken, help) in remedies.items():
        owners: dict[str, list[tuple[int, PlannedCell]]] = defaultdict(list)
        for number, one in enumerate(everything.made):
            owners[getattr(one.cell, what).lower()].append((number, one))
        for sharers in owners.values():
            numbers = frozenset(number for number, _ in sharers)
            if len(sharers) < 2 or numbers in reported:
                continue
            reported.add(numbers)
            last = sharers[-1][1]
            places[what, last.index] = places.get((what, last.index), 0) + 1
            if places[what, last.index] > 1:  # one says enough: the others have the same cause
                continue
            names = dict.fromkeys(f"{m.package.name} {m.cell.id}" if what == "id" else m.cell.id for _, m in sharers)
            who = " and ".join([*list(names)[:3], *([f"{len(names) - 3} more"] if len(names) > 3 else [])])
            text = f"{who} share the {spoken} {getattr(last.cell, what)}"
            yield declaration.source.diagnostic(("packages", last.index, "name"), text, help)


def _owners(declaration: Declaration, everything: Expansion) -> Iterator[Diagnostic]:
    """Distributions that two packages make once their names are filled, and extras that providers have already."""
    owners: dict[str, int] = {}
    shared: set[tuple[int, int]] = set()
    for one in everything.made:
        first = owners.setdefault(canonicalize_name(one.cell.package), one.index)
        if first != one.index and (first, one.index) not in shared:
            shared.add((first, one.index))
            other = declaration.packages[first].name
            what = f"{one.cell.package} of {one.cell.id} is a distribution of '{other}' as well"
            yield declaration.source.diagnostic(("packages", one.index, "name"), what, "rename one of them")
    taken = {(m.index, m.cell.family) for m in everything.made if m.package.layout == "provider"}
    for place, package in enumerate(declaration.packages):
        for extra in package.extras:
            if (place, extra) in taken:
                what = f"the extra {extra} is that of the provider {package.name}-{extra}"
                path: Path = ("packages", place, "extras", extra)
                yield declaration.source.diagnostic(path, what, "rename it", key=True)


def _forms(declaration: Declaration, everything: Expansion) -> Iterator[Diagnostic]:
    """Labels not in normal form or on the way to PyPI, names too long, tags that are none."""
    source = declaration.source
    seen: set[tuple[str, int]] = set()
    for one in everything.made:
        path: Path = ("packages", one.index)
        local, tag = one.cell.local_version or "", "-".join(one.cell.wheel.rsplit("-", 3)[1:3])
        if local and ("local", one.index) not in seen:
            normal = _normal_label(local)
            if normal != local:
                seen.add(("local", one.index))
                help = f"write what gives {normal}" if normal else "use small letters, digits and dots"
                what = f"'{local}' is not a local label as pip and uv write it"
                yield source.diagnostic((*path, "local"), what, help)
        if local and one.package.publish == "pypi" and ("pypi", one.index) not in seen:
            seen.add(("pypi", one.index))
            what = f"PyPI takes no wheel with a local label, and {one.cell.id} has +{local}"
            yield source.diagnostic((*path, "publish"), what, 'write local: "", or publish: store')
        if len(one.cell.wheel) > _LONGEST_NAME and ("length", one.index) not in seen:
            seen.add(("length", one.index))
            what = f"a file name of {len(one.cell.wheel)} characters is longer than file systems take: {one.cell.wheel}"
            yield source.diagnostic((*path, "name"), what, f"shorten it to {_LONGEST_NAME}")
        if one.cell.wheel.endswith(".whl") and not _PYTHON_TAG.fullmatch(tag) and ("tag", one.index) not in seen:
            seen.add(("tag", one.index))
            dotted = next((a for a in one.cell.axes if f"{{{a}}}" in one.package.tag), None)
            threads = re.fullmatch(r"(cp[0-9]+)t-.*", tag)
            help = f"write {{{dotted}_nodot}} for {{{dotted}}}" if dotted else "write it like cp312-cp312"
            help = f"only the ABI tag bears the t: write {threads[1]}-{threads[1]}t" if threads else help
            yield source.diagnostic((*path, "tag"), f"'{tag}' is not a Python and ABI tag", help)


def _empty(declaration: Declaration, everything: Expansion) -> Iterator[Diagnostic]:
    """Packages without a cell."""
    for place in {*range(len(declaration.packages))} - {m.index for m in everything.made}:
        name = declaration.packages[place].name
        what = f"nothing is left of {name}: it makes no cell, or each is excluded"
        yield declaration.source.diagnostic(("packages", place, "name"), what, "declare targets for it, or remove it")


def _normal_label(local: str) -> str | None:
    try:
        return Version(f"0+{local}").local
    except ValueError:  # InvalidVersion is one, and so is what Python says of a number without end
        return None


def _exclusions(declaration: Declaration, everything: Expansion) -> Iterator[Diagnostic]:
    source = declaration.source
    for place, exclusion in enumerate(declaration.document.exclude):
        path: Path = ("exclude", place, "cells")
        if not any(fnmatch.fnmatchcase(i, exclusion.cells) for i in everything.ids):
            what = f"'{exclusion.cells}' matches no cell"
            yield source.diagnostic(path, what, suggest_pattern(exclusion.cells, everything.ids))
        elif place not in everything.used and exclusion.targets is not None:
            listed = " ".join(map(str, exclusion.targets))
            where: Path = ("exclude", place, "targets")
            yield source.diagnostic(where, f"no cell of '{exclusion.cells}' has {listed}", "remove the exclusion")


def _selections(declaration: Declaration, everything: Expansion) -> Iterator[Diagnostic]:
    """Globs that mean nothing, empty channels, more jobs than GitHub takes, and needs that a channel does not meet."""
    source = declaration.source
    for name, channel in declaration.channels.items():
        known = True
        for place, pattern in enumerate(channel.select):
            if not any(fnmatch.fnmatchcase(i, pattern) for i in everything.ids):
                known = False
                where: Path = ("channels", name, "select", place)
                yield source.diagnostic(where, f"'{pattern}' matches no cell", suggest_pattern(pattern, everything.ids))
        chosen, unmet = select_cells(everything, name, channel)
        if not chosen and known and everything.made:
            left_out = any(matches(row.id, channel.select) for row in everything.excluded)
            help = "everything that it selects is left out" if left_out else "let a package be part of it"
            yield source.diagnostic(("channels", name), f"the channel {name} has no cell", help)
        if len(chosen) > MATRIX_JOBS:
            what = f"{len(chosen)} cells are more than the {MATRIX_JOBS} jobs of one GitHub Actions matrix"
            yield source.diagnostic(("channels", name), what, "narrow its select, or divide it over two declarations")
        for need in unmet:
            path: Path = ("packages", need.index, "needs")
            yield source.diagnostic(path, f"{name}: {need.what}", "let the channel select it, or remove the need")


def _promises(declaration: Declaration, everything: Expansion) -> Iterator[Diagnostic]:
    """Capabilities that cells do not cover together, in all or as far as they are released, though it was promised."""
    if not declaration.document.must_cover:
        return
    source = declaration.source
    released = {m.cell.id for m in select_cells(everything, "release", declaration.document.channels.release)[0]}
    for place, promise in enumerate(declaration.document.must_cover):
        meant = [m for m in everything.made if m.cell.targets and fnmatch.fnmatchcase(m.cell.id, promise.cells)]
        path: Path = ("must_cover", place)
        if not meant:
            what = f"'{promise.cells}' matches no CUDA cell"
            yield source.diagnostic(
                (*path, "cells"), what, suggest_pattern(promise.cells, [c.id for c in everything.cells if c.targets])
            )
        known = [c for c in promise.capabilities if c in KNOWN_CAPABILITIES]
        for capability in [c for c in promise.capabilities if c not in known]:
            what = f"no known GPU has the capability {capability}"
            help = f"known: {' '.join(map(str, KNOWN_CAPABILITIES))}"
            yield capability_diagnostic(source, (*path, "capabilities"), capability, what, help)
        live = _covered(declaration, [m for m in meant if m.cell.id in released])
        for group, covered in _covered(declaration, meant).items():
            missing = [c for c in known if c not in covered]
            if missing:
                what = f"{group} was promised to cover {dotted(missing)}, and does not"
                help = "declare a target whose machine code runs there, or take the promise back"
                yield source.diagnostic((*path, "capabilities"), what, help)
            left = [c for c in known if c in covered and c not in live.get(group, covered)]
            if left:
                what = f"{group} was promised to cover {dotted(left)}, and the release leaves out the cells that do"
                help = "let the channel select them too, or take the promise back"
                yield source.diagnostic(("channels", "release", "select"), what, help)


def _covered(declaration: Declaration, made: list[PlannedCell]) -> dict[str, set[Capability]]:
    """What each group of cells covers: one package, CUDA label and CPU, and all its families."""
    groups: dict[str, set[Capability]] = defaultdict(set)
    for one in made:
        named = [one.package.name] if len(declaration.packages) > 1 else []
        axes = [f"{axis}{value}" for axis, value in one.cell.axes.items()]
        groups[" ".join([*named, str(one.cell.cuda), str(one.cell.arch), *axes])] |= set(one.cell.covers)
    return groups
