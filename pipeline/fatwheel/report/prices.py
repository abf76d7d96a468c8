"""What a target costs: read from machine code, else found by comparing wheels that gained it with others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from fatwheel.records.report import TargetPrice
from fatwheel.report.accounting import weigh
from fatwheel.report.sizes import Series, SizedWheel, Snapshot


@dataclass(frozen=True)
class Change:
    """A wheel in two releases that follow each other."""

    before: SizedWheel
    after: SizedWheel

    @property
    def growth(self) -> int:
        """Bytes."""
        return self.after.bytes - self.before.bytes

    @property
    def came(self) -> tuple[str, ...]:
        """Targets that are new."""
        return _without(self.after.targets, self.before.targets)

    @property
    def went(self) -> tuple[str, ...]:
        """Targets that are gone."""
        return _without(self.before.targets, self.after.targets)

    @property
    def steady(self) -> bool:
        """Whether its targets are known to be the same."""
        return self.before.targets is not None and self.before.targets == self.after.targets

    @property
    def known(self) -> bool:
        """Whether its targets are known in both."""
        return self.before.targets is not None and self.after.targets is not None


def changes(before: Snapshot, after: Snapshot) -> list[Change]:
    """The wheels that both releases hold whole."""
    pairs = ((before.find(wheel.series), wheel) for wheel in after.wheels)
    return [Change(old, new) for old, new in pairs if old and not old.partial and not new.partial]


def from_inventory(wheel: SizedWheel, label: str) -> list[TargetPrice]:
    """Each target of a wheel whose machine code was read."""
    if wheel.inventory is None:
        return []
    weights = weigh(wheel.inventory, wheel.bytes)
    return [
        TargetPrice(
            targets=[target], label=label, cuda=wheel.cuda, arch=wheel.arch, bytes=count,
            low=count - weights.doubt(target), high=count + weights.doubt(target), method="inventory",
            basis="its machine code in the wheel",
        )
        for target, count in weights.by_target.items()
    ]  # fmt: skip


def from_sizes(pairs: Sequence[Change], names: Mapping[Series, str], tag: str) -> list[TargetPrice]:
    """What targets that came or went between two releases cost, by difference in differences.

    The growth of a wheel whose targets changed, less that of wheels whose targets did not: of the same CUDA label where
    there are any, else the median of all. Every such wheel would have been a fair comparison, so all of them together
    give the bounds.
    """
    steady = [pair for pair in pairs if pair.steady]
    found = []
    for pair in pairs:
        if not pair.known or pair.steady or bool(pair.came) == bool(pair.went) or not steady:
            continue  # where some came as others went, sizes cannot tell them apart
        near = [one for one in steady if one.after.cuda == pair.after.cuda] or steady
        sign = 1 if pair.came else -1
        background = round(median(one.growth for one in near))
        bounds = sorted(sign * (pair.growth - one.growth) for one in steady)
        against = ", ".join(names[one.after.series] for one in near[:3]) + (" ..." if len(near) > 3 else "")
        found.append(
            TargetPrice(
                targets=list(pair.came or pair.went), label=names[pair.after.series], cuda=pair.after.cuda,
                arch=pair.after.arch, bytes=sign * (pair.growth - background), low=bounds[0], high=bounds[-1],
                method="sizes", basis=f"{tag}: its growth beside that of {against}",
            )
        )  # fmt: skip
    return found


def price_list(snapshots: Sequence[Snapshot], names: Mapping[Series, str]) -> list[TargetPrice]:
    """All that is known, the surest first: the newest wheels' machine code, then sizes, the latest releases first."""
    found: list[TargetPrice] = []
    if snapshots:
        for wheel in snapshots[-1].wheels:
            found += from_inventory(wheel, names[wheel.series])
    for before, after in reversed(list(pairwise(snapshots))):
        found += from_sizes(changes(before, after), names, after.tag)
    return found


def _without(some: Sequence[str] | None, others: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(one for one in some or () if one not in (others or ()))
