"""What would bring a wheel under its limit, with the sizes that would come of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from fatwheel.records.report import Suggestion, TargetPrice
from fatwheel.report.accounting import Weights
from fatwheel.report.sizes import SizedWheel
from fatwheel.targets import covers, parse_target


@dataclass(frozen=True)
class Group:
    """A family that a wheel could be split into: majors of its devices, and targets added to what is native."""

    majors: tuple[int, ...]
    base: tuple[str, ...] = ()

    def of(self, targets: Sequence[str]) -> list[str]:
        """What it would hold of a wheel's targets; empty where none is native."""
        native = [text for text in targets if parse_target(text).major in self.majors]
        return [text for text in targets if text in native or text in self.base] if native else []


GROUPS: Mapping[str, Group] = {"sm9x": Group((7, 8, 9)), "sm10x": Group((10, 11)), "sm12x": Group((12,))}
"""How FlashInfer's proposal divides GPUs, for wheels whose declaration names no families."""
_MOST_DROPPED = 3  # targets at once: who has to drop more should split


def suggest(
    wheel: SizedWheel,
    label: str,
    limit: int,
    *,
    weights: Weights | None,
    prices: Sequence[TargetPrice],
    families: Mapping[str, Group] | None = None,
    dead: int = 0,
) -> list[Suggestion]:
    """All that is known to help, what costs users least first. ``dead``: bytes in the wheel that nothing loads."""
    found = []
    if 0 < dead < wheel.bytes:
        size = wheel.bytes - dead
        found.append(Suggestion(what="leave out what nothing loads", predicted={label: size}, enough=size < limit))
    held = wheel.targets or ()
    found += _drops(wheel, label, limit, weights, prices)
    if weights and len(held) > 1:
        found += _splits(label, limit, held, weights, families or GROUPS)
    return found


def _drops(
    wheel: SizedWheel, label: str, limit: int, weights: Weights | None, prices: Sequence[TargetPrice]
) -> list[Suggestion]:
    """The smallest sets of targets without which it fits; those first whose devices other targets serve."""
    held = wheel.targets or ()
    known = {price.targets[0]: price.bytes for price in prices if price.label == label and len(price.targets) == 1}
    droppable = [target for target in held if weights or target in known]
    for count in range(1, min(_MOST_DROPPED, len(held) - 1) + 1):
        found = []
        for dropped in combinations(droppable, count):
            kept = [target for target in held if target not in dropped]
            size = weights.holding(kept) if weights else wheel.bytes - sum(known[target] for target in dropped)
            if size < limit:
                loses = lost(wheel, held, kept)
                found.append(
                    Suggestion(what=f"drop {' '.join(dropped)}", predicted={label: size}, loses=loses, enough=True)
                )
        if found:
            return sorted(found, key=lambda one: (len(one.loses), one.predicted[label]))[:4]
    return []


def lost(wheel: SizedWheel, held: Iterable[str], kept: Iterable[str]) -> list[str]:
    """The capabilities that only the dropped targets serve, among those that the wheel is for."""
    before = covers(map(parse_target, held), None, wheel.toolkit)
    after = covers(map(parse_target, kept), None, wheel.toolkit)
    mine = set(wheel.cell.covers) if wheel.cell else {str(one) for one in before}
    return [str(one) for one in before if one not in after and str(one) in mine]


def _splits(
    label: str, limit: int, held: Sequence[str], weights: Weights, families: Mapping[str, Group]
) -> list[Suggestion]:
    by_family = {name: targets for name, group in families.items() if (targets := group.of(held))}
    found = []
    if len(by_family) > 1:
        sizes = {f"{label} {name}": weights.holding(targets) for name, targets in by_family.items()}
        found.append(_split("split by family", sizes, limit))
    alone = {f"{label} sm{parse_target(target).undotted}": weights.holding([target]) for target in held}
    found.append(_split("split by target", alone, limit))
    return found


def _split(what: str, sizes: dict[str, int], limit: int) -> Suggestion:
    return Suggestion(what=what, predicted=sizes, enough=max(sizes.values()) < limit)
