"""Reduce a plan to the wheels that an incomplete release is missing."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from pathlib import Path

from fatwheel.declaration import Declaration
from fatwheel.errors import UsageError
from fatwheel.records.manifest import Manifest
from fatwheel.records.plan import Plan
from fatwheel.records.release import ReleaseJournal, ReleaseRecord


def keep_missing(declaration: Declaration, plan: Plan, record: Path) -> Plan:
    """Keep only the cells whose wheel is not uploaded, according to a release record, journal or manifest.

    Raises `UsageError` for an invalid record, and for a record of another tag.
    """
    tag, live = _live(record)
    if tag != plan.tag:
        raise UsageError(
            f"the record has tag {tag}, but the plan has {plan.tag}",
            where=str(record),
            help="pass the --channel and, for a nightly, the --date of that release",
        )
    cells = [cell for cell in plan.cells if cell.wheel not in live]
    counts = Counter(declaration.package(cell.package).name for cell in cells)
    kept = {cell.id for cell in cells}
    note = f"resumed: {len(plan.cells) - len(cells)} of {len(plan.cells)} files are uploaded according to {record.name}"
    untested = [row.model_copy(update={"cells": [c for c in row.cells if c in kept]}) for row in plan.not_proven]
    return plan.model_copy(
        update={
            "cells": cells,
            "packages": [p.model_copy(update={"cells": counts[p.name]}) for p in plan.packages],
            "not_proven": [row for row in untested if row.cells],
            "warnings": [note, *plan.warnings],
        }
    )


def _live(record: Path) -> tuple[str, set[str]]:
    """The tag of a release and the names of its uploaded assets."""
    try:
        done: ReleaseRecord | ReleaseJournal | Manifest = ReleaseRecord.read(record)
    except UsageError as error:
        done = _other(record, error)
    if isinstance(done, Manifest):
        return done.tag, {asset.name for asset in done.assets}
    return done.tag, {asset.name for asset in done.assets if asset.live}


def _other(record: Path, error: UsageError) -> ReleaseJournal | Manifest:
    """Read a journal or a manifest. If it is neither, raise the error of reading a release record."""
    with suppress(UsageError):
        return ReleaseJournal.read(record)
    with suppress(OSError, ValueError):
        content = json.loads(record.read_bytes())
        if isinstance(content, dict) and {"version", "assets", "absent"} <= content.keys():  # keys of a manifest
            return Manifest.read(record)
    raise error from None
