"""Compare each wheel with the size limit and with the previous release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fatwheel.records.report import Level, Part, TargetSize, WheelBudget
from fatwheel.report.breakdown import WheelBreakdown, break_down, module_label
from fatwheel.report.snapshots import Series, SizedWheel, Snapshot
from fatwheel.report.suggestions import Group, suggest

MAX_PARTS = 20


@dataclass(frozen=True)
class Allowance:
    """The configured limits, and the GPU families that a wheel can be split into."""

    limit: int  # bytes
    warn: float  # share of the limit
    growth: float  # share of the previous size
    families: Mapping[str, Group] | None = None


def check_budget(
    now: Snapshot,
    before: Snapshot | None,
    allowance: Allowance,
    names: Mapping[Series, str],
    *,
    target_sizes: Sequence[TargetSize] = (),
    unused: Mapping[str, int] | None = None,
) -> list[WheelBudget]:
    """Compare every wheel with its limits, the largest first. ``unused``: bytes of unused device code, by label."""
    rows = [
        _check_wheel(
            wheel,
            before.find(wheel.series) if before else None,
            allowance,
            label=names[wheel.series],
            target_sizes=target_sizes,
            unused=unused or {},
        )
        for wheel in now.wheels
    ]
    return sorted(rows, key=lambda row: (-row.bytes, row.label))


def _check_wheel(
    wheel: SizedWheel, old: SizedWheel | None, allowance: Allowance, *, label: str, target_sizes: Sequence[TargetSize],
    unused: Mapping[str, int],
) -> WheelBudget:  # fmt: skip
    old = old if old and not old.partial and not wheel.partial else None
    growth = wheel.bytes - old.bytes if old else None
    level, why = _level(wheel.bytes, old.bytes if old else None, allowance)
    breakdown = break_down(wheel.inventory, wheel.bytes) if wheel.inventory else None
    suggestions = (
        suggest(
            wheel,
            label,
            allowance.limit,
            breakdown=breakdown,
            target_sizes=target_sizes,
            families=allowance.families,
            unused=unused.get(label, 0),
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
        by_target=_parts({str(target): count for target, count in breakdown.by_target.items()}) if breakdown else [],
        by_module=_parts(_modules(breakdown))[:MAX_PARTS] if breakdown else [],
        suggestions=suggestions,
    )


def _level(size: int, before: int | None, allowance: Allowance) -> tuple[Level, str]:
    if size >= allowance.limit:
        excess = size - allowance.limit + 1
        return "over", f"{excess:,} bytes too large (must be smaller than {allowance.limit:,})"
    if before and size - before > allowance.growth * before:
        share = (size - before) / before
        return "grown", f"grew by {share:.1%}; the limit is {allowance.growth:.0%}"
    if size >= allowance.warn * allowance.limit:
        return "warn", f"at {size / allowance.limit:.1%} of the limit, {allowance.limit - size:,} bytes left"
    return "ok", ""


def _modules(breakdown: WheelBreakdown) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for module in breakdown.modules:
        name = module_label(module.module)
        sizes[name] = sizes.get(name, 0) + module.total
    return sizes


def _parts(sizes: Mapping[str, int]) -> list[Part]:
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    return [Part(name=name, bytes=count) for name, count in ordered]
