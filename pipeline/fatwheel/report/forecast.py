"""Estimate wheel sizes before a build, from the newest wheels and the size per target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fatwheel.records.plan import Cell, CellChange, PlanDiff
from fatwheel.records.report import SizeEstimate, TargetSize
from fatwheel.report.breakdown import break_down
from fatwheel.report.snapshots import SizedWheel, Snapshot, series_of
from fatwheel.targets import Target, dotted


@dataclass(frozen=True)
class Bounds:
    """An estimated number of bytes with its bounds, and the basis of the estimate."""

    bytes: int
    low: int
    high: int
    basis: str

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(
            self.bytes + other.bytes, self.low + other.low, self.high + other.high, f"{self.basis}; {other.basis}"
        )

    def __neg__(self) -> Bounds:
        return Bounds(-self.bytes, -self.high, -self.low, self.basis)


def estimate_changes(
    diff: PlanDiff, now: Snapshot | None, target_sizes: Sequence[TargetSize], limit: int
) -> list[SizeEstimate]:
    """Estimate the size of every wheel that a plan diff changes. ``now``: the newest release, None without one."""
    found = [
        _estimate_changed(change, now, target_sizes, limit)
        for change in diff.changed
        if change.targets_added or change.targets_removed
    ]
    found += [_estimate_added(cell, now, target_sizes, limit) for cell in diff.added if cell.targets]
    for cell in diff.removed:
        wheel = _find_wheel(cell.id, cell.wheel, now)
        if wheel or cell.targets:
            before = wheel.bytes if wheel else None
            found.append(
                SizeEstimate(
                    id=cell.id, change="removed", before=before, after=None, limit=limit, basis="no longer built"
                )
            )
    return found


def estimate_target(
    target: Target, target_sizes: Sequence[TargetSize], *, cuda: str | None, arch: str | None, label: str | None = None
) -> Bounds | None:
    """Estimate the size of one target: as measured in the same wheel, else in the most similar wheel with it.

    For a target that was never built, use the closest target of the same major, with wide bounds: from zero (no source
    is compiled for it) to twice the size.
    """
    exact = [one for one in target_sizes if len(one.targets) == 1 and one.targets[0].code == target.code]
    if exact:
        best = min(exact, key=lambda one: (one.label != label, one.cuda != cuda, one.arch != arch))
        where = "" if best.label == label else f" in {best.label}"
        return Bounds(best.bytes, best.low, best.high, f"{target} as measured{where}")
    similar = [one for one in target_sizes if len(one.targets) == 1 and one.targets[0].major == target.major]
    if not similar:
        return None
    best = min(
        similar,
        key=lambda one: (
            one.label != label, one.cuda != cuda, one.arch != arch,
            abs(one.targets[0].minor - target.minor),
        ),
    )  # fmt: skip
    return Bounds(best.bytes, 0, 2 * best.bytes, f"{target} never built, assumed similar to {best.targets[0]}")


def _estimate_changed(
    change: CellChange, now: Snapshot | None, target_sizes: Sequence[TargetSize], limit: int
) -> SizeEstimate:
    wheel = _find_wheel(change.id, None, now)
    if wheel is None or now is None:
        return SizeEstimate(
            id=change.id, change="changed", before=None, after=None, limit=limit, basis="not in any release yet"
        )
    total = Bounds(wheel.bytes, wheel.bytes, wheel.bytes, now.tag)
    unknown = []
    for sign, targets in ((1, change.targets_added), (-1, change.targets_removed)):
        for target in targets:
            one = estimate_target(target, target_sizes, cuda=wheel.cuda, arch=wheel.arch, label=change.id)
            if one is None:
                unknown.append(target)
            else:
                total = total + (one if sign > 0 else -one)
    if unknown:
        return SizeEstimate(
            id=change.id, change="changed", before=wheel.bytes, after=None, limit=limit,
            basis=f"no similar target was built before: {dotted(unknown)}",
        )  # fmt: skip
    return SizeEstimate(
        id=change.id, change="changed", before=wheel.bytes, limit=limit, basis=total.basis,
        after=max(0, total.bytes), low=max(0, total.low), high=max(0, total.high),
    )  # fmt: skip


def _estimate_added(
    cell: Cell, now: Snapshot | None, target_sizes: Sequence[TargetSize], limit: int
) -> SizeEstimate:  # fmt: skip
    total = _bound_added(cell, now, target_sizes)
    if total is None:
        return SizeEstimate(
            id=cell.id, change="added", before=None, after=None, limit=limit, basis="no similar wheel was built before"
        )
    return SizeEstimate(
        id=cell.id, change="added", before=None, limit=limit, basis=total.basis,
        after=max(0, total.bytes), low=max(0, total.low), high=max(0, total.high),
    )  # fmt: skip


def _bound_added(cell: Cell, now: Snapshot | None, target_sizes: Sequence[TargetSize]) -> Bounds | None:
    """Add up the host code and files of the most similar wheel, and the size of each target."""
    similar = [(w, w.cell, w.inventory) for w in now.wheels if w.inventory and w.cell] if now else []
    if not similar:
        return None
    wheel, other, inventory = min(
        similar, key=lambda one: (one[1].family != cell.family, one[0].arch != cell.arch, one[0].cuda != cell.cuda)
    )
    breakdown = break_down(inventory, wheel.bytes)
    rest = breakdown.total - sum(breakdown.by_target.values())
    total = Bounds(rest, rest, rest, f"host code as in {other.id}")
    for target in cell.targets:
        one = estimate_target(target, target_sizes, cuda=cell.cuda, arch=cell.arch, label=cell.id)
        if one is None:
            return None
        total = total + one
    return total


def _find_wheel(cell_id: str, file: str | None, now: Snapshot | None) -> SizedWheel | None:
    if now is None:
        return None
    named = next((wheel for wheel in now.wheels if wheel.cell and wheel.cell.id == cell_id), None)
    return named or (now.find(series_of(file)) if file else None)
