"""One channel's plan, and everything that is wrong with the plans of a declaration."""

from __future__ import annotations

import datetime as dt
import difflib
import fnmatch
from collections import Counter, defaultdict

from pipeline.declaration import Declaration
from pipeline.declaration.model import Channel, Promise
from pipeline.declaration.source import Path
from pipeline.declaration.templates import fill
from pipeline.declaration.values import ChannelName
from pipeline.errors import DeclarationError, Problem, UsageError
from pipeline.plan.expand import Expansion, expand
from pipeline.plan.versions import channel_version, parse_date
from pipeline.records.plan import Cell, Plan, PlannedPackage

# The most jobs that one GitHub Actions matrix may hold.
MATRIX_JOBS = 256
CHANNELS: tuple[ChannelName, ...] = ("release", "nightly", "pull-request")


def channels(declaration: Declaration) -> dict[ChannelName, Channel]:
    """The declared channels."""
    declared = declaration.document.channels
    found = {"release": declared.release, "nightly": declared.nightly, "pull-request": declared.pull_request}
    return {name: channel for name in CHANNELS if (channel := found[name]) is not None}


def make_plan(
    declaration: Declaration, channel: str = "release", only: str | None = None, date: dt.date | None = None
) -> Plan:
    """The plan of one channel; ``only`` is a glob over ids that narrows it.

    Raises `DeclarationError` with every reason why the declaration's plans cannot stand, and `UsageError` for a
    channel that is not declared and for a selection that matches nothing.
    """
    declared = channels(declaration)
    chosen = next((c for name, c in declared.items() if name == channel), None)
    if chosen is None:
        raise UsageError(f"the channel '{channel}' is not declared", remedy=f"there are: {', '.join(declared)}")
    date = date or parse_date(None)
    version = channel_version(declaration, channel, date)
    everything = expand(declaration, version)
    wrong = _problems(declaration, everything)
    if wrong:
        raise DeclarationError(tuple(wrong))
    cells = [c for c in everything.cells if _selected(c.id, chosen.select)]
    if only is not None:
        narrowed = [c for c in cells if fnmatch.fnmatchcase(c.id, only)]
        if not narrowed:
            raise unknown_cell(only, [c.id for c in cells], channel)
        cells = narrowed
    kept = {c.id for c in cells}
    patterns = chosen.select if only is None else [only]
    excluded = [row for row in everything.excluded if row.id in kept or _selected(row.id, patterns)]
    counts = Counter(declaration.package(c.package).name for c in cells)
    return Plan(
        packages=[
            PlannedPackage(name=p.name, version=version, layout=p.layout or "pure", cells=counts[p.name])
            for p in declaration.packages
        ],
        channel=channel,
        repository=chosen.repository,
        tag=fill(chosen.tag, {"version": version, "date": f"{date:%Y%m%d}"}),
        completeness=chosen.completeness,
        size_limit=declaration.document.size.limit,
        cells=cells,
        excluded=excluded,
        warnings=_warnings(chosen, cells),
    )


def cell(declaration: Declaration, cell_id: str, channel: str | None = None, date: dt.date | None = None) -> Cell:
    """The cell with this id, in this channel or the first that has it. Raises `UsageError` with near misses."""
    known: list[str] = []
    for name in [channel] if channel else channels(declaration):
        for found in make_plan(declaration, name, date=date).cells:
            if found.id == cell_id:
                return found
            known.append(found.id)
    raise unknown_cell(cell_id, known)


def unknown_cell(text: str, known: list[str], channel: str | None = None) -> UsageError:
    """The error for an id or glob that matches nothing, with what it may have meant."""
    where = f" of the channel '{channel}'" if channel else ""
    near = difflib.get_close_matches(text, known, n=3, cutoff=0.7)
    ids = list(dict.fromkeys(known))
    listed = ", ".join(ids[:12]) + (" ..." if len(ids) > 12 else "")
    return UsageError(
        f"'{text}' matches no cell{where}",
        remedy=f"did you mean {', '.join(dict.fromkeys(near))}?" if near else f"there are: {listed}",
    )


def _selected(cell_id: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(cell_id, pattern) for pattern in patterns)


def problems(declaration: Declaration) -> list[Problem]:
    """Everything that keeps any channel of a declaration from being planned."""
    return _problems(declaration, expand(declaration, declaration.version))


def _problems(declaration: Declaration, everything: Expansion) -> list[Problem]:
    found: list[Problem] = []
    source = declaration.source
    ids = [c.id for c in everything.cells]
    all_ids = [*ids, *(row.id for row in everything.excluded)]
    found += _collisions(declaration, everything.cells)
    for place, exclusion in enumerate(declaration.document.exclude):
        path: Path = ("exclude", place, "cells")
        if not any(fnmatch.fnmatchcase(i, exclusion.cells) for i in all_ids):
            found.append(source.problem(path, f"'{exclusion.cells}' matches no cell", _near(exclusion.cells, all_ids)))
        elif place not in everything.used and exclusion.targets is not None:
            listed = " ".join(map(str, exclusion.targets))
            where: Path = ("exclude", place, "targets")
            found.append(source.problem(where, f"no cell of '{exclusion.cells}' has {listed}", "remove the exclusion"))
    for name, channel in channels(declaration).items():
        chosen = [i for i in ids if _selected(i, channel.select)]
        for place, pattern in enumerate(channel.select):
            if not any(fnmatch.fnmatchcase(i, pattern) for i in all_ids):
                where = ("channels", name, "select", place)
                found.append(source.problem(where, f"'{pattern}' matches no cell", _near(pattern, all_ids)))
        if len(chosen) > MATRIX_JOBS:
            what = f"{len(chosen)} cells are more than the {MATRIX_JOBS} jobs of one GitHub Actions matrix"
            found.append(source.problem(("channels", name), what, "narrow its select"))
    for place, promise in enumerate(declaration.document.must_cover):
        found += _broken(declaration, everything.cells, promise, place)
    return found


def _near(pattern: str, ids: list[str]) -> str:
    near = difflib.get_close_matches(pattern, ids, n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else f"ids look like {ids[0]}" if ids else "there are no cells"


def _collisions(declaration: Declaration, cells: list[Cell]) -> list[Problem]:
    """Ids, artifact names and wheel names that two cells share."""
    found: list[Problem] = []
    remedies = {
        "id": "give one package an id:, which is put before its cells' ids",
        "artifact": "give one package an id:, which is put before its cells' ids",
        "wheel": "put the axis that tells them apart into local: or tag:",
    }
    for what, remedy in remedies.items():
        owners: dict[str, list[Cell]] = defaultdict(list)
        for one in cells:
            owners[getattr(one, what)].append(one)
        for value, sharers in owners.items():
            if len(sharers) > 1:
                place = next(
                    (
                        i
                        for i, p in enumerate(declaration.packages)
                        if sharers[-1].package.startswith(p.name.split("{")[0])
                    ),
                    0,
                )
                spoken = {"id": "id", "artifact": "artifact", "wheel": "file name"}[what]
                who = f"{len(sharers)} cells" if what == "id" else " and ".join(c.id for c in sharers[:3])
                found.append(
                    declaration.source.problem(("packages", place, "name"), f"{who} share the {spoken} {value}", remedy)
                )
    return found


def _broken(declaration: Declaration, cells: list[Cell], promise: Promise, place: int) -> list[Problem]:
    """Promised capabilities that a group of cells (all of one CUDA and CPU, over families) does not cover."""
    groups: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for one in cells:
        if one.cuda and fnmatch.fnmatchcase(one.id, promise.cells):
            groups[(one.cuda, str(one.arch), *one.axes.values())] |= set(one.covers)
    path: Path = ("must_cover", place)
    if not groups:
        ids = [c.id for c in cells]
        return [
            declaration.source.problem(
                (*path, "cells"), f"'{promise.cells}' matches no CUDA cell", _near(promise.cells, ids)
            )
        ]
    found = []
    for group, covered in groups.items():
        missing = [str(c) for c in promise.capabilities if str(c) not in covered]
        if missing:
            what = f"{' '.join(group)} was promised to cover {' '.join(missing)}, and does not"
            found.append(declaration.source.problem((*path, "capabilities"), what, "declare a target that runs there"))
    return found


def _warnings(channel: Channel, cells: list[Cell]) -> list[str]:
    found: list[str] = []
    if channel.immutable and channel.completeness == "partial":
        found.append("partial releases of an immutable repository stay partial: what is missing cannot be added later")
    unproven = dict.fromkeys(c.family or c.cuda or "" for c in cells if c.targets and not c.smoke)
    if unproven:
        found.append(f"not proven on a GPU (no runner declared): {', '.join(unproven)}")
    tagged = sorted({i for c in cells if (i := c.image) and "@sha256:" not in i})
    if tagged:
        more = f" and {len(tagged) - 1} more" if len(tagged) > 1 else ""
        found.append(f"an image without a digest can change under you: {tagged[0]}{more}")
    return found
