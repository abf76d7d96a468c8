"""Suggest ways to get a wheel under its size limit, with the predicted sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from fatwheel.records.report import Suggestion, TargetSize
from fatwheel.report.breakdown import WheelBreakdown
from fatwheel.report.snapshots import SizedWheel
from fatwheel.targets import USUAL_FAMILIES, Capability, Target, covers, dotted


@dataclass(frozen=True)
class Group:
    """A GPU family that a wheel can be split into: device majors, and additional base targets."""

    majors: tuple[int, ...]
    base: tuple[Target, ...] = ()

    def select(self, targets: Sequence[Target]) -> list[Target]:
        """The targets that the family's wheel would get; empty if none is of its majors."""
        native = [target for target in targets if target.major in self.majors]
        return [target for target in targets if target in native or target in self.base] if native else []


_USUAL_GROUPS = {name: Group(majors) for name, majors in USUAL_FAMILIES.items()}
_MAX_DROPPED = 3  # targets at once; beyond that, splitting is the better choice
_MAX_DROPS = 4  # alternatives listed


def suggest(
    wheel: SizedWheel,
    label: str,
    limit: int,
    *,
    breakdown: WheelBreakdown | None,
    target_sizes: Sequence[TargetSize],
    families: Mapping[str, Group] | None = None,
    unused: int = 0,
) -> list[Suggestion]:
    """List everything known to help, the least intrusive first. ``unused``: bytes of unused device code."""
    found = []
    if 0 < unused < wheel.bytes:
        size = wheel.bytes - unused
        found.append(Suggestion(what="remove unused device code", predicted={label: size}, enough=size < limit))
    targets = wheel.targets or ()
    found += _suggest_drops(wheel, label, limit, breakdown, target_sizes)
    if breakdown and len(targets) > 1:
        found += _suggest_splits(label, limit, targets, breakdown, families or _USUAL_GROUPS)
    return found


def _suggest_drops(
    wheel: SizedWheel, label: str, limit: int, breakdown: WheelBreakdown | None, target_sizes: Sequence[TargetSize]
) -> list[Suggestion]:
    """Find the smallest sets of targets to drop, first those whose devices run the code of another target."""
    targets = wheel.targets or ()
    known = {one.targets[0]: one.bytes for one in target_sizes if one.label == label and len(one.targets) == 1}
    droppable = [target for target in targets if breakdown or target in known]
    for count in range(1, min(_MAX_DROPPED, len(targets) - 1) + 1):
        found = []
        for dropped in combinations(droppable, count):
            kept = [target for target in targets if target not in dropped]
            size = breakdown.size_with(kept) if breakdown else wheel.bytes - sum(known[target] for target in dropped)
            if size < limit:
                loses = find_lost_capabilities(wheel, targets, kept)
                found.append(
                    Suggestion(what=f"drop {dotted(dropped)}", predicted={label: size}, loses=loses, enough=True)
                )
        if found:
            return sorted(found, key=lambda one: (len(one.loses), one.predicted[label]))[:_MAX_DROPS]
    return []


def find_lost_capabilities(wheel: SizedWheel, targets: Iterable[Target], kept: Iterable[Target]) -> list[Capability]:
    """The capabilities covered by a wheel that only the dropped targets run on."""
    before = covers(targets, None, wheel.toolkit)
    after = covers(kept, None, wheel.toolkit)
    covered = set(wheel.cell.covers) if wheel.cell else set(before)
    return [one for one in before if one not in after and one in covered]


def _suggest_splits(
    label: str, limit: int, targets: Sequence[Target], breakdown: WheelBreakdown, families: Mapping[str, Group]
) -> list[Suggestion]:
    by_family = {name: selected for name, group in families.items() if (selected := group.select(targets))}
    found = []
    if len(by_family) > 1:
        sizes = {f"{label} {name}": breakdown.size_with(selected) for name, selected in by_family.items()}
        found.append(_split("split by family", sizes, limit))
    single = {f"{label} sm{target.undotted}": breakdown.size_with([target]) for target in targets}
    found.append(_split("split by target", single, limit))
    return found


def _split(what: str, sizes: dict[str, int], limit: int) -> Suggestion:
    return Suggestion(what=what, predicted=sizes, enough=max(sizes.values()) < limit)
