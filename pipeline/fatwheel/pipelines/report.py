"""What the commands around sizes share: which store, which limits, which dispatch; and the step summary."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fatwheel.console.output import say
from fatwheel.errors import UsageError

if TYPE_CHECKING:
    import re

    from fatwheel.declaration import Declaration
    from fatwheel.records.plan import PlanDiff
    from fatwheel.records.report import Report
    from fatwheel.report.budget import Allowance
    from fatwheel.report.dispatch import Rule
    from fatwheel.report.make_report import Question
    from fatwheel.stores import Store


def open_named_store(spec: str | None, matrix: Path | None, channel: str | None, records: Path | None) -> Store | None:
    """The store that is named, else that of the declared channel; None where only records are asked about."""
    from fatwheel.stores import open_store

    if spec:
        return open_store(spec)
    if matrix and not (records and channel is None):
        from fatwheel.declaration import load
        from fatwheel.plan import channels

        declared = {str(name): one for name, one in channels(load(matrix)).items()}
        found = declared.get(channel or "release")
        if found is not None and found.repository:
            return open_store(f"github:{found.repository}")
    if records:
        return None
    raise UsageError(
        "there is nothing to report on", help="give --store STORE, --records DIR, or --matrix with a repository"
    )


def question(
    *, records: Path | None, matrix: Path | None, channel: str | None, dispatch: Path | None, most: int
) -> Question:
    """What is asked for, with the declaration's limits, families and dispatch where one is given."""
    from fatwheel.declaration import load
    from fatwheel.report.dispatch import read_table
    from fatwheel.report.make_report import Question

    declaration = load(matrix) if matrix else None
    if channel and declaration is None:
        raise UsageError("--channel goes with --matrix", help="add --matrix matrix.yaml")
    rules: tuple[Rule, ...] = declared_rules(declaration) if declaration else ()
    if dispatch:
        rules += read_table(dispatch)
    return Question(
        allowance=allowance(declaration),
        records=records,
        tags=_tags(declaration, channel) if declaration and channel else None,
        most=most,
        rules=rules,
        say=say,
    )


def allowance(declaration: Declaration | None) -> Allowance:
    """The declared limits and families; without a declaration, what matrix.yaml would have by default."""
    from fatwheel.declaration.model import Size
    from fatwheel.report.budget import Allowance
    from fatwheel.report.suggestions import Group

    if declaration is None:
        size = Size()
        return Allowance(size.limit, size.warn, size.growth)
    size = declaration.document.size
    groups = {
        name: Group(tuple(family.majors), tuple(map(str, family.base or ())))
        for name, family in declaration.document.families.items()
    }
    return Allowance(size.limit, size.warn, size.growth, groups or None)


def declared_rules(declaration: Declaration) -> tuple[Rule, ...]:
    """The dispatch of all packages."""
    from fatwheel.report.dispatch import Rule

    return tuple(
        Rule(row.feature or row.modules, row.modules, frozenset(row.capabilities))
        for package in declaration.document.packages
        for row in package.dispatch
    )


def _tags(declaration: Declaration, channel: str) -> re.Pattern[str]:
    from fatwheel.plan import channels
    from fatwheel.release.retention import tag_pattern

    declared = {str(name): one for name, one in channels(declaration).items()}
    if channel not in declared:
        raise UsageError(f"there is no channel '{channel}'", help=f"declared: {', '.join(declared)}")
    return tag_pattern(declared[channel].tag, nightly=channel == "nightly")


def priced(diff: PlanDiff, store: str | None, records: Path | None, declaration: Declaration) -> PlanDiff:
    """A difference of plans with what it does to each wheel's size; also on the step's page, on GitHub Actions.

    Raises what reading the store raises.
    """
    from fatwheel.report.make_report import Question, gather
    from fatwheel.report.predict import price_diff
    from fatwheel.report.summary import prices_markdown
    from fatwheel.stores import open_store

    allowed = allowance(declaration)
    found = gather(open_store(store) if store else None, Question(allowed, records=records, say=say))
    prices = price_diff(diff, found.now, found.prices(), allowed.limit)
    diff = diff.model_copy(update={"prices": prices})
    append_summary(prices_markdown(diff))
    return diff


def write_summary(report: Report) -> None:
    """The report on the step's page, on GitHub Actions."""
    from fatwheel.report.summary import report_markdown

    append_summary(report_markdown(report))


def append_summary(text: str) -> None:
    """Add to the step summary, if there is one; a page that cannot be written is said, and no failure."""
    if place := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(place).open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            say(f"the step summary could not be written: {error.strerror}")
