"""Combine matrix.yaml, stores and reports: which store to read, which limits and dispatch rules to apply."""

from __future__ import annotations

import re
from pathlib import Path

from fatwheel.declaration import Declaration, load
from fatwheel.declaration.model import Size
from fatwheel.errors import UsageError
from fatwheel.pipelines.stores import channel_store_spec
from fatwheel.records.plan import PlanDiff
from fatwheel.release.retention import make_tag_pattern
from fatwheel.report.budget import Allowance
from fatwheel.report.dispatch import Rule, read_rules
from fatwheel.report.forecast import estimate_changes
from fatwheel.report.make_report import ReportOptions, read_snapshots
from fatwheel.report.suggestions import Group
from fatwheel.retry import Notify
from fatwheel.stores import Store, open_store


def choose_store(spec: str | None, matrix: Path | None, channel: str | None, records: Path | None) -> Store | None:
    """Open the given store, else the repository of the channel; None if the report is about ``records`` only.

    Raises `UsageError` if there is nothing to report on.
    """
    if spec:
        return open_store(spec)
    if matrix and not (records and channel is None) and (found := channel_store_spec(matrix, channel or "release")):
        return open_store(found)
    if records:
        return None
    raise UsageError(
        "nothing to report on", help="give --store STORE, --records DIR, or --matrix with a channel repository"
    )


def report_options(
    *,
    records: Path | None,
    matrix: Path | None,
    channel: str | None,
    dispatch: Path | None,
    max_releases: int,
    notify: Notify,
) -> ReportOptions:
    """Combine command-line options with the limits, families and dispatch rules of matrix.yaml, if given.

    Raises `UsageError` for an undeclared channel or an invalid dispatch table.
    """
    declaration = load(matrix) if matrix else None
    if channel and declaration is None:
        raise UsageError("--channel requires --matrix", help="add --matrix matrix.yaml")
    rules = declared_rules(declaration) if declaration else ()
    if dispatch:
        rules += read_rules(dispatch)
    return ReportOptions(
        allowance=declared_allowance(declaration),
        records=records,
        tags=_tag_pattern(declaration, channel) if declaration and channel else None,
        max_releases=max_releases,
        rules=rules,
        notify=notify,
    )


def declared_allowance(declaration: Declaration | None) -> Allowance:
    """The limits and families of matrix.yaml, or the default limits without one."""
    if declaration is None:
        size = Size()
        return Allowance(size.limit, size.warn, size.growth)
    size = declaration.document.size
    groups = {
        name: Group(tuple(family.majors), tuple(family.base or ()))
        for name, family in declaration.document.families.items()
    }
    return Allowance(size.limit, size.warn, size.growth, groups or None)


def declared_rules(declaration: Declaration) -> tuple[Rule, ...]:
    """The dispatch rules of all packages."""
    return tuple(
        Rule(row.feature or row.modules, row.modules, frozenset(row.capabilities))
        for package in declaration.document.packages
        for row in package.dispatch
    )


def _tag_pattern(declaration: Declaration, channel: str) -> re.Pattern[str]:
    return make_tag_pattern(declaration.channel(channel).tag, nightly=channel == "nightly")


def estimate_diff(
    diff: PlanDiff, store: str | None, records: Path | None, declaration: Declaration, notify: Notify
) -> PlanDiff:
    """Add size estimates to a plan diff, from the releases of a store or a folder of wheels or records.

    Raises `StoreFailure` if the store cannot be read.
    """
    allowance = declared_allowance(declaration)
    options = ReportOptions(allowance, records=records, notify=notify)
    found = read_snapshots(open_store(store) if store else None, options)
    estimates = estimate_changes(diff, found.now, found.target_sizes(), allowance.limit)
    return diff.model_copy(update={"estimates": estimates})
