"""Compare two plans of a channel: added and removed cells and targets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TypeVar

from fatwheel.declaration import Declaration
from fatwheel.plan.planner import make_plan
from fatwheel.records.plan import Cell, CellChange, Plan, PlanDiff

_One = TypeVar("_One")


def compare(old: Declaration, now: Plan, revision: str, date: dt.date | None = None) -> PlanDiff:
    """Compare a plan with that of an earlier declaration, for the same channel and date."""
    declared = now.channel in old.channels
    return diff_plans(make_plan(old, now.channel, date=date) if declared else None, now, revision)


def diff_plans(old: Plan | None, now: Plan, revision: str) -> PlanDiff:
    """Compare two plans. ``old`` is None if the channel was not declared."""
    before = {cell.id: cell for cell in old.cells} if old else {}
    after = {cell.id: cell for cell in now.cells}
    changes = [change for id_, cell in after.items() if id_ in before and (change := _change(before[id_], cell))]
    return PlanDiff(
        revision=revision,
        channel=now.channel,
        version=(_version(old), _version(now) or ""),
        added=[cell for id_, cell in after.items() if id_ not in before],
        removed=[cell for id_, cell in before.items() if id_ not in after],
        changed=changes,
        excluded=[row for row in now.excluded if old is None or row not in old.excluded],
        included=[row for row in (old.excluded if old else ()) if row not in now.excluded],
        same=len(before.keys() & after.keys()) - len(changes),
    )


def _version(plan: Plan | None) -> str | None:
    return plan.packages[0].version if plan and plan.packages else None


def _change(old: Cell, now: Cell) -> CellChange | None:
    """The change of a cell, ignoring its version; None without one."""
    fields: dict[str, tuple[str | None, str | None]] = {}
    for name in ("package", "toolkit", "local_version", "image", "runner", "smoke"):
        pair = getattr(old, name), getattr(now, name)
        if pair[0] != pair[1]:
            fields[name] = pair
    tags = _tag(old), _tag(now)
    if tags[0] != tags[1]:
        fields["tag"] = tags
    for name in ("requires", "extras"):
        requirements = _unversioned(old, name), _unversioned(now, name)
        if requirements[0] != requirements[1]:
            fields[name] = requirements
    change = CellChange(
        id=now.id,
        targets_added=_without(now.targets, old.targets),
        targets_removed=_without(old.targets, now.targets),
        covers_added=_without(now.covers, old.covers),
        covers_removed=_without(old.covers, now.covers),
        fields=fields,
    )
    return change if change != CellChange(id=now.id) else None


def _without(some: Sequence[_One], others: Sequence[_One]) -> list[_One]:
    return [one for one in some if one not in others]


def _tag(cell: Cell) -> str:
    return "-".join(cell.wheel.rsplit("-", 3)[1:]).removesuffix(".whl") if cell.wheel.endswith(".whl") else "sdist"


def _unversioned(cell: Cell, name: str) -> str | None:
    """Requirements or extras as text, without the version that all packages share."""
    texts = cell.requires if name == "requires" else [f"{e}: {', '.join(r)}" for e, r in cell.extras.items()]
    return "; ".join(text.replace(f"=={cell.version}", "") for text in texts) or None
