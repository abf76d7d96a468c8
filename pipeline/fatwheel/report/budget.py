"""Each wheel against the limit and against the release before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fatwheel.records.report import Level, Part, TargetPrice, WheelBudget
from fatwheel.report.accounting import Weights, short, weigh
from fatwheel.report.sizes import Series, SizedWheel, Snapshot
from fatwheel.report.suggestions import Group, suggest

MOST_PARTS = 20


@dataclass(frozen=True)
class Allowance:
    """What a declaration allows: bytes, a share of them, a share of the size before; and its families."""

    limit: int
    warn: float
    growth: float
    families: Mapping[str, Group] | None = None


def budget(
    now: Snapshot,
    before: Snapshot | None,
    allowance: Allowance,
    names: Mapping[Series, str],
    *,
    prices: Sequence[TargetPrice] = (),
    dead: Mapping[str, int] | None = None,
) -> list[WheelBudget]:
    """One row a wheel, the largest first. ``dead``: by label, the bytes in the wheel that nothing loads."""
    rows = [
        _row(
            wheel,
            before.find(wheel.series) if before else None,
            allowance,
            label=names[wheel.series],
            prices=prices,
            dead=dead or {},
        )
        for wheel in now.wheels
    ]
    return sorted(rows, key=lambda row: (-row.bytes, row.label))


def _row(
    wheel: SizedWheel, old: SizedWheel | None, allowance: Allowance, *, label: str, prices: Sequence[TargetPrice],
    dead: Mapping[str, int],
) -> WheelBudget:  # fmt: skip
    old = old if old and not old.partial and not wheel.partial else None
    growth = wheel.bytes - old.bytes if old else None
    level, why = _level(wheel.bytes, old.bytes if old else None, allowance)
    weights = weigh(wheel.inventory, wheel.bytes) if wheel.inventory else None
    helping = (
        suggest(
            wheel,
            label,
            allowance.limit,
            weights=weights,
            prices=prices,
            families=allowance.families,
            dead=dead.get(label, 0),
        )
        if level == "over"
        else []
    )
    return WheelBudget(
        wheel=wheel.file,
        kind=wheel.kind,
        label=label,
        bytes=wheel.bytes,
        limit=allowance.limit,
        before=old.bytes if old else None,
        growth=growth,
        level=level,
        why=why,
        targets=list(wheel.targets) if wheel.targets is not None else None,
        by_target=_parts(weights.by_target) if weights else [],
        by_module=_parts(_modules(weights))[:MOST_PARTS] if weights else [],
        remedies=helping,
    )


def _level(size: int, before: int | None, allowance: Allowance) -> tuple[Level, str]:
    if size >= allowance.limit:
        too_many = size - allowance.limit + 1
        return "over", f"{too_many:,} bytes too many: it must be under {allowance.limit:,}"
    if before and size - before > allowance.growth * before:
        share = (size - before) / before
        return "grown", f"grew by {share:.1%}, and {allowance.growth:.0%} are allowed"
    if size >= allowance.warn * allowance.limit:
        return "warn", f"{size / allowance.limit:.1%} of the limit, {allowance.limit - size:,} bytes left"
    return "ok", ""


def _modules(weights: Weights) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for module in weights.modules:
        name = short(module.module)
        sizes[name] = sizes.get(name, 0) + module.total
    return sizes


def _parts(sizes: Mapping[str, int]) -> list[Part]:
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    return [Part(name=name, bytes=count) for name, count in ordered]
