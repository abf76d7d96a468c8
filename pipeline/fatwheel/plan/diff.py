"""Two plans of one channel: the cells and targets that were added and removed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TypeVar

from fatwheel.declaration import Declaration
from fatwheel.plan.planner import make_plan
from fatwheel.records.plan import Cell, CellChange, Plan, PlanDiff

_One = TypeVar("_One")


def compare(old: Declaration, now: Plan, revision: str, date: dt.date | None = None) -> PlanDiff:
    """What differs between the plan of an earlier declaration and a plan of the same channel and day."""
    there = now.channel in old.channels
    return difference(make_plan(old, now.channel, date=date) if there else None, now, revision)


def difference(old: Plan | None, now: Plan, revision: str) -> PlanDiff:
    """The same for two plans; ``old`` is None where the channel was not declared."""
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
    """What differs in a cell beside its version, or None."""
    fields: dict[str, tuple[str | None, str | None]] = {}
    for name in ("package", "toolkit", "local_version", "image", "runner", "smoke"):
        pair = getattr(old, name), getattr(now, name)
        if pair[0] != pair[1]:
            fields[name] = pair
    tags = _tag(old), _tag(now)
    if tags[0] != tags[1]:
        fields["tag"] = tags
    for name in ("requires", "extras"):
        wishes = _unversioned(old, name), _unversioned(now, name)
        if wishes[0] != wishes[1]:
            fields[name] = wishes
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
    """Requirements or extras as one text, without the version that all of a set share."""
    held = cell.requires if name == "requires" else [f"{e}: {', '.join(r)}" for e, r in cell.extras.items()]
    return "; ".join(text.replace(f"=={cell.version}", "") for text in held) or None
