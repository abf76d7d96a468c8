"""Determine the size per target: from device code, or by comparing the growth of wheels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from fatwheel.records.report import TargetSize
from fatwheel.report.breakdown import break_down
from fatwheel.report.snapshots import Series, SizedWheel, Snapshot
from fatwheel.targets import Target


@dataclass(frozen=True)
class Change:
    """The same wheel in two consecutive releases."""

    before: SizedWheel
    after: SizedWheel

    @property
    def growth(self) -> int:
        """Bytes gained."""
        return self.after.bytes - self.before.bytes

    @property
    def added(self) -> tuple[Target, ...]:
        """Targets in the later release only."""
        return _without(self.after.targets, self.before.targets)

    @property
    def removed(self) -> tuple[Target, ...]:
        """Targets in the earlier release only."""
        return _without(self.before.targets, self.after.targets)

    @property
    def steady(self) -> bool:
        """Whether the targets are known to be the same."""
        return self.before.targets is not None and self.before.targets == self.after.targets

    @property
    def known(self) -> bool:
        """Whether the targets are known in both releases."""
        return self.before.targets is not None and self.after.targets is not None


def pair_wheels(before: Snapshot, after: Snapshot) -> list[Change]:
    """Pair the whole wheels that both releases contain."""
    pairs = ((before.find(wheel.series), wheel) for wheel in after.wheels)
    return [Change(old, new) for old, new in pairs if old and not old.partial and not new.partial]


def measure_code(wheel: SizedWheel, label: str) -> list[TargetSize]:
    """Measure each target of a wheel whose device code was read."""
    if wheel.inventory is None:
        return []
    breakdown = break_down(wheel.inventory, wheel.bytes)
    return [
        TargetSize(
            targets=[target], label=label, cuda=wheel.cuda, arch=wheel.arch, bytes=count,
            low=count - breakdown.uncertainty(target), high=count + breakdown.uncertainty(target), method="inventory",
            basis="device code",
        )
        for target, count in breakdown.by_target.items()
    ]  # fmt: skip


def compare_growth(changes: Sequence[Change], names: Mapping[Series, str], tag: str) -> list[TargetSize]:
    """Estimate the size of targets added or removed in release ``tag``, by difference in differences.

    From the growth of a wheel whose targets changed, subtract the growth of wheels whose targets did not: the median of
    those with the same CUDA label, or of all if there are none. The bounds come from all of them, since each would have
    been a fair comparison.
    """
    steady = [change for change in changes if change.steady]
    found = []
    for change in changes:
        if not change.known or change.steady or bool(change.added) == bool(change.removed) or not steady:
            continue  # with targets both added and removed, sizes alone are ambiguous
        similar = [one for one in steady if one.after.cuda == change.after.cuda] or steady
        sign = 1 if change.added else -1
        background = round(median(one.growth for one in similar))
        bounds = sorted(sign * (change.growth - one.growth) for one in steady)
        compared = ", ".join(names[one.after.series] for one in similar[:3]) + (" ..." if len(similar) > 3 else "")
        found.append(
            TargetSize(
                targets=list(change.added or change.removed), label=names[change.after.series], cuda=change.after.cuda,
                arch=change.after.arch, bytes=sign * (change.growth - background), low=bounds[0], high=bounds[-1],
                method="sizes", basis=f"growth in {tag} compared with {compared}",
            )
        )  # fmt: skip
    return found


def list_target_sizes(snapshots: Sequence[Snapshot], names: Mapping[Series, str]) -> list[TargetSize]:
    """Determine all known target sizes, the most reliable first: device code of the newest wheels, then past growth."""
    found: list[TargetSize] = []
    if snapshots:
        for wheel in snapshots[-1].wheels:
            found += measure_code(wheel, names[wheel.series])
    for before, after in reversed(list(pairwise(snapshots))):
        found += compare_growth(pair_wheels(before, after), names, after.tag)
    return found


def _without(some: Sequence[Target] | None, others: Sequence[Target] | None) -> tuple[Target, ...]:
    return tuple(one for one in some or () if one not in (others or ()))
