"""What is missing: wheels that a plan names, and CPU architectures that only some wheels of a version have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from packaging.utils import canonicalize_name
from packaging.version import Version

from fatwheel.index.names import public
from fatwheel.records.index import IndexedFile, Missing
from fatwheel.records.plan import Plan
from fatwheel.targets import TEGRA

_Wheels = dict[tuple[str, Version], list[IndexedFile]]


def missing(
    wheels: Sequence[IndexedFile], plans: Mapping[str, Sequence[Missing]], explained: Iterable[str]
) -> list[Missing]:
    """What no page lists, in the order of projects and versions. ``plans``: by tag; ``explained``: names told already.

    Where a release says what was planned, that counts. Elsewhere every CPU architecture that a version has wheels for
    is looked for in each of its CUDA labels and families; and the newest version is held against the one before.
    """
    there = {row.file for row in wheels} | set(explained)
    told = {(one.project, tag) for tag, plan in plans.items() for one in plan}
    by_text: dict[tuple[str, str], list[IndexedFile]] = defaultdict(list)
    for row in wheels:
        by_text[row.project, row.version.partition("+")[0]].append(row)
    versions: _Wheels = defaultdict(list)
    for (project, text), rows in by_text.items():
        versions[project, public(text)] += rows
    found = [one for plan in plans.values() for one in plan if one.file not in there]
    guessed = {
        key: rows
        for key, rows in versions.items()
        if not (told and any((row.project, row.tag) in told for row in rows))
    }
    for (project, version), rows in guessed.items():
        found += _holes(project, version, rows)
    found += _dropped(versions, guessed)
    unique = {(one.project, one.version, one.cuda, one.family, one.arch, one.file): one for one in found}
    return sorted(unique.values(), key=lambda m: (m.project, Version(m.version), m.cuda or "", m.family or "", str(m)))


def planned(plan: Plan) -> list[Missing]:
    """Each wheel that a plan names, as it would be missing."""
    return [
        Missing(
            project=canonicalize_name(cell.package), version=cell.version, cuda=cell.cuda, family=cell.family,
            arch=cell.arch, file=cell.wheel,
        )
        for cell in plan.cells
        if cell.wheel.endswith(".whl")
    ]  # fmt: skip


def _holes(project: str, version: Version, rows: Sequence[IndexedFile]) -> Iterable[Missing]:
    arches = {row.arch for row in rows if row.arch}
    groups: dict[tuple[str | None, str | None], list[IndexedFile]] = defaultdict(list)
    for row in rows:
        groups[row.cuda, row.family].append(row)
    for (cuda, family), held in groups.items():
        has = {row.arch for row in held}
        absent = set() if None in has else arches - has
        integrated = bool(absent) and all(row.covers and set(row.covers) <= TEGRA for row in held)
        for arch in absent:
            if not (integrated and arch == "x86_64"):
                yield Missing(project=project, version=str(version), cuda=cuda, family=family, arch=arch)


def _dropped(versions: _Wheels, guessed: _Wheels) -> Iterable[Missing]:
    """CPU architectures that the newest release of a project has no wheel for, and the one before has."""
    by_project: dict[str, list[Version]] = defaultdict(list)
    for project, version in versions:
        if not version.is_prerelease:
            by_project[project].append(version)
    for project, known in by_project.items():
        newest, *before = sorted(known, reverse=True)[:2]
        if not before or (project, newest) not in guessed:
            continue
        had, has = ({row.arch for row in versions[project, version]} for version in (before[0], newest))
        for arch in () if None in has else had - has - {None}:
            yield Missing(project=project, version=str(newest), cuda=None, family=None, arch=arch)
