"""Find missing wheels: those of a plan, and CPU architectures that only some wheels of a version support."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from packaging.utils import canonicalize_name
from packaging.version import Version

from fatwheel.index.file_names import public_version
from fatwheel.records.index import IndexedFile, Missing
from fatwheel.records.plan import Plan
from fatwheel.targets import TEGRA

_Wheels = dict[tuple[str, Version], list[IndexedFile]]


def find_missing(
    wheels: Sequence[IndexedFile], plans: Mapping[str, Sequence[Missing]], explained: Iterable[str]
) -> list[Missing]:
    """Find the wheels missing from the index, sorted by project and version.

    ``plans`` maps a tag to the wheels of its plan; ``explained`` names files that the index reports as absent. If a
    release has a plan, only the plan counts. Otherwise each CPU architecture of a version is expected for each of its
    CUDA labels and families, and the newest version is compared with the previous one.
    """
    known = {entry.file for entry in wheels} | set(explained)
    with_plan = {(one.project, tag) for tag, plan in plans.items() for one in plan}
    by_text: dict[tuple[str, str], list[IndexedFile]] = defaultdict(list)
    for entry in wheels:
        by_text[entry.project, entry.version.partition("+")[0]].append(entry)
    versions: _Wheels = defaultdict(list)
    for (project, text), entries in by_text.items():
        versions[project, public_version(text)] += entries
    found = [one for plan in plans.values() for one in plan if one.file not in known]
    unplanned = {
        key: entries
        for key, entries in versions.items()
        if not (with_plan and any((entry.project, entry.tag) in with_plan for entry in entries))
    }
    for (project, version), entries in unplanned.items():
        found += _find_gaps(project, version, entries)
    found += _find_dropped(versions, unplanned)
    unique = {(one.project, one.version, one.cuda, one.family, one.arch, one.file): one for one in found}
    return sorted(unique.values(), key=lambda m: (m.project, Version(m.version), m.cuda or "", m.family or "", str(m)))


def list_planned(plan: Plan) -> list[Missing]:
    """Return the `Missing` record of each wheel in a plan."""
    return [
        Missing(
            project=canonicalize_name(cell.package), version=cell.version, cuda=cell.cuda, family=cell.family,
            arch=cell.arch, file=cell.wheel,
        )
        for cell in plan.cells
        if cell.wheel.endswith(".whl")
    ]  # fmt: skip


def _find_gaps(project: str, version: Version, entries: Sequence[IndexedFile]) -> Iterable[Missing]:
    """Find CPU architectures of a version that some of its CUDA labels and families do not have."""
    arches = {entry.arch for entry in entries if entry.arch}
    groups: dict[tuple[str | None, str | None], list[IndexedFile]] = defaultdict(list)
    for entry in entries:
        groups[entry.cuda, entry.family].append(entry)
    for (cuda, family), held in groups.items():
        present = {entry.arch for entry in held}
        absent = set() if None in present else arches - present
        tegra_only = bool(absent) and all(entry.covers and set(entry.covers) <= TEGRA for entry in held)
        for arch in absent:
            if not (tegra_only and arch == "x86_64"):
                yield Missing(project=project, version=str(version), cuda=cuda, family=family, arch=arch)


def _find_dropped(versions: _Wheels, unplanned: _Wheels) -> Iterable[Missing]:
    """Find CPU architectures that the previous release of a project supports and the newest does not."""
    by_project: dict[str, list[Version]] = defaultdict(list)
    for project, version in versions:
        if not version.is_prerelease:
            by_project[project].append(version)
    for project, known in by_project.items():
        newest, *before = sorted(known, reverse=True)[:2]
        if not before or (project, newest) not in unplanned:
            continue
        previous, present = ({entry.arch for entry in versions[project, version]} for version in (before[0], newest))
        for arch in () if None in present else previous - present - {None}:
            yield Missing(project=project, version=str(newest), cuda=None, family=None, arch=arch)
