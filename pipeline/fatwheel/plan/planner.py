"""Plan a channel, look up cells, and collect errors and warnings of matrix.yaml."""

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
    """Plan one channel. ``only``: select cells whose ID matches this glob. ``date``: of a nightly, today if None.

    Raises `DeclarationError` with all errors of matrix.yaml, and `UsageError` for an undeclared channel and for a
    glob that matches nothing.
    """
    declared = declaration.channels
    name, chosen = next(((n, c) for n, c in declared.items() if n == channel), (None, None))
    if name is None or chosen is None:
        raise UsageError(f"channel '{channel}' is not declared", help=f"declared: {', '.join(declared)}")
    date = date or parse_date(None)
    version = channel_version(declaration, channel, date)
    expansion = expand(declaration, version)
    errors = validate_expansion(declaration, expansion)
    if errors:
        raise DeclarationError(tuple(errors))
    made, _ = select_cells(expansion, name, chosen)
    notes = [_as_warning(p) for p in lint(declaration, made)]
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
        excluded=[row for row in expansion.excluded if row.id in kept or matches(row.id, patterns)],
        not_proven=_untested(made),
        warnings=[*notes, *_unpinned_images(cells)],
    )


def find_cell(declaration: Declaration, cell_id: str, channel: str | None = None, date: dt.date | None = None) -> Cell:
    """The cell with this ID, in a channel or in the first one with it. Raises `UsageError` with similar IDs."""
    known: list[str] = []
    for found in iter_cells(declaration, channel, date):
        if found.id == cell_id:
            return found
        known.append(found.id)
    raise unknown_cell_error(cell_id, known)


def iter_cells(declaration: Declaration, channel: str | None = None, date: dt.date | None = None) -> Iterator[Cell]:
    """Yield the cells of a channel, or of all channels without duplicates. Channels are planned lazily."""
    known: set[str] = set()
    for name in [channel] if channel else declaration.channels:
        for found in make_plan(declaration, name, date=date).cells:
            if found.id not in known:
                known.add(found.id)
                yield found


def find_errors(declaration: Declaration) -> list[Diagnostic]:
    """Return all errors that prevent planning any channel."""
    return validate_expansion(declaration, expand(declaration, declaration.version))


_KNOWN = frozenset(Document.model_fields)  # an unknown key may be a misspelling of one of these


def find_all_errors(result: LoadResult) -> list[Diagnostic]:
    """Return all errors of a file, and of its cells as far as those errors do not affect them."""
    found = list(result.errors)
    if result.declaration is None:
        return found
    source = result.declaration.source
    sections = {source.section(error) for error in found}
    if sections - _KNOWN:
        return found
    follow = sections & CELLS_FOLLOW
    later = validate_intact_cells(result.declaration, found) if follow else find_errors(result.declaration)
    return merge_errors(found, later, source.mark(()))


def find_warnings(declaration: Declaration) -> list[Diagnostic]:
    """Return the warnings of a `Declaration` that can be planned."""
    return lint(declaration, expand(declaration, declaration.version).planned)


def _as_warning(one: Diagnostic) -> str:
    return f"{one.what}: {one.help}" if one.help else one.what


def _untested(made: list[PlannedCell]) -> list[Untested]:
    """Untested families by CPU architecture, in the order of the plan."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for one in made:
        if one.cell.targets and not one.cell.smoke:
            groups.setdefault((one.cell.family or "all", one.cell.arch or "any"), []).append(one.cell)
    found: list[Untested] = []
    for (family, arch), cells in groups.items():
        covers = sorted({c for one in cells for c in one.covers})
        found.append(Untested(family=family, arch=arch, cells=[c.id for c in cells], covers=covers))
    return found


def _unpinned_images(cells: list[Cell]) -> list[str]:
    tagged = sorted({i for c in cells if (i := c.image) and "@sha256:" not in i})
    more = f" and {len(tagged) - 1} more" if len(tagged) > 1 else ""
    return [f"image without a digest, which can change at any time: {tagged[0]}{more}"] if tagged else []
