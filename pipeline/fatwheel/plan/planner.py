"""One channel's plan, and everything that is wrong with the plans of a declaration."""

from __future__ import annotations

import datetime as dt
import fnmatch
from collections import Counter
from collections.abc import Iterator

from fatwheel.declaration import Declaration, LoadResult
from fatwheel.declaration.load import merge_errors
from fatwheel.declaration.model import Document
from fatwheel.declaration.templates import fill
from fatwheel.errors import DeclarationError, Diagnostic, UsageError
from fatwheel.plan.expand import PlannedCell, expand
from fatwheel.plan.lint import lint
from fatwheel.plan.partial_validation import CELLS_FOLLOW, validate_intact_cells
from fatwheel.plan.plan_validation import validate_expansion
from fatwheel.plan.selection import matches, select_cells, unknown_cell_error
from fatwheel.plan.versions import channel_version, parse_date
from fatwheel.records.plan import Cell, Plan, PlannedPackage, Untested


def make_plan(
    declaration: Declaration, channel: str = "release", only: str | None = None, date: dt.date | None = None
) -> Plan:
    """The plan of one channel; ``only`` is a glob over ids that narrows it.

    Raises `DeclarationError` with every reason why the declaration's plans cannot stand, and `UsageError` for a
    channel that is not declared and for a selection that matches nothing.
    """
    declared = declaration.channels
    name, chosen = next(((n, c) for n, c in declared.items() if n == channel), (None, None))
    if name is None or chosen is None:
        raise UsageError(f"the channel '{channel}' is not declared", help=f"there are: {', '.join(declared)}")
    date = date or parse_date(None)
    version = channel_version(declaration, channel, date)
    everything = expand(declaration, version)
    wrong = validate_expansion(declaration, everything)
    if wrong:
        raise DeclarationError(tuple(wrong))
    made, _ = select_cells(everything, name, chosen)
    notes = [_spoken(p) for p in lint(declaration, made)]
    if only is not None:
        narrowed = [m for m in made if fnmatch.fnmatchcase(m.cell.id, only)]
        if not narrowed:
            raise unknown_cell_error(only, [m.cell.id for m in made], channel)
        made = narrowed
    cells = [m.cell for m in made]
    kept = {c.id for c in cells}
    patterns = chosen.select if only is None else [only]
    counts = Counter(m.index for m in made)
    return Plan(
        packages=[
            PlannedPackage(name=p.name, version=version, layout=p.layout or "pure", cells=counts[place])
            for place, p in enumerate(declaration.packages)
            if name in p.channels
        ],
        channel=channel,
        repository=chosen.repository,
        tag=fill(chosen.tag, {"version": version, "date": f"{date:%Y%m%d}"}),
        completeness=chosen.completeness,
        size_limit=declaration.document.size.limit,
        cells=cells,
        excluded=[row for row in everything.excluded if row.id in kept or matches(row.id, patterns)],
        not_proven=_not_proven(made),
        warnings=[*notes, *_images(cells)],
    )


def find_cell(declaration: Declaration, cell_id: str, channel: str | None = None, date: dt.date | None = None) -> Cell:
    """The cell with this id, in this channel or the first that has it. Raises `UsageError` with near misses."""
    known: list[str] = []
    for found in iter_cells(declaration, channel, date):
        if found.id == cell_id:
            return found
        known.append(found.id)
    raise unknown_cell_error(cell_id, known)


def iter_cells(declaration: Declaration, channel: str | None = None, date: dt.date | None = None) -> Iterator[Cell]:
    """The cells of a channel, or of all: each once, as the first channel has it. Channels are planned as it goes."""
    known: set[str] = set()
    for name in [channel] if channel else declaration.channels:
        for found in make_plan(declaration, name, date=date).cells:
            if found.id not in known:
                known.add(found.id)
                yield found


def find_errors(declaration: Declaration) -> list[Diagnostic]:
    """Everything that keeps any channel of a declaration from being planned."""
    return validate_expansion(declaration, expand(declaration, declaration.version))


_KNOWN = frozenset(Document.model_fields)  # below any other key may stand what was meant for one of these


def find_all_errors(reading: LoadResult) -> list[Diagnostic]:
    """What is wrong with a file, and with its plans as far as they can be judged beside that."""
    found = list(reading.errors)
    if reading.declaration is None:
        return found
    source = reading.declaration.source
    sections = {source.section(problem) for problem in found}
    if sections - _KNOWN:
        return found
    follow = sections & CELLS_FOLLOW
    later = validate_intact_cells(reading.declaration, found) if follow else find_errors(reading.declaration)
    return merge_errors(found, later, source.mark(()))


def find_warnings(declaration: Declaration) -> list[Diagnostic]:
    """What a declaration that can be planned probably does not mean."""
    return lint(declaration, expand(declaration, declaration.version).made)


def _spoken(problem: Diagnostic) -> str:
    return f"{problem.what}: {problem.help}" if problem.help else problem.what


def _not_proven(made: list[PlannedCell]) -> list[Untested]:
    """Families on CPU architectures that no GPU runner proves, in the plan's order."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for one in made:
        if one.cell.targets and not one.cell.smoke:
            groups.setdefault((one.cell.family or "all", one.cell.arch or "any"), []).append(one.cell)
    found: list[Untested] = []
    for (family, arch), cells in groups.items():
        covers = sorted({c for one in cells for c in one.covers})
        found.append(Untested(family=family, arch=arch, cells=[c.id for c in cells], covers=covers))
    return found


def _images(cells: list[Cell]) -> list[str]:
    tagged = sorted({i for c in cells if (i := c.image) and "@sha256:" not in i})
    more = f" and {len(tagged) - 1} more" if len(tagged) > 1 else ""
    return [f"an image without a digest can change under you: {tagged[0]}{more}"] if tagged else []
