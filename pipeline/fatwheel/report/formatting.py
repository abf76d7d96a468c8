"""Sizes, rates and days in words; the same in the terminal, the step summary and the page."""

from __future__ import annotations

from collections.abc import Sequence

from fatwheel.records.report import CellPrice, TargetPrice, Trend, WheelBudget
from fatwheel.sizes import size


def signed(count: float) -> str:
    """The same with its sign: ``+256 MiB``."""
    return f"+{size(count)}" if count > 0 else size(count)


def span(low: float, high: float) -> str:
    """Two bounds, ``550 to 622 MiB``; one where they look the same."""
    first, last = size(low), size(high)
    if first == last:
        return first
    return f"{first.removesuffix(last[-4:])} to {last}" if first[-4:] == last[-4:] else f"{first} to {last}"


def share(row: WheelBudget) -> str:
    """Of the limit: ``95.3 %``."""
    return f"{100 * row.bytes / row.limit:.1f} %"


def growth(row: WheelBudget) -> str:
    """Since the release before: ``+45.0 MiB, +2.4 %``; of what is no whole wheel, what it is."""
    if row.kind != "whole":
        return row.kind
    if row.growth is None or not row.before:
        return "new"
    return f"{signed(row.growth)}, {100 * row.growth / row.before:+.1f} %" if row.growth else "same"


def bounds(price: TargetPrice) -> str:
    """How sure a price is; empty for one that was read."""
    return span(price.low, price.high) if price.low != price.high else ""


def rate(trend: Trend) -> str:
    """Bytes a day: ``+2.80 MiB``."""
    return signed(trend.rate) if trend.rate is not None else "-"


def sure(trend: Trend) -> str:
    """The interval of the rate; empty where there is none."""
    return span(trend.low, trend.high) if trend.low is not None and trend.high is not None else ""


def days(trend: Trend) -> str:
    """``34 days (28 to 45)``."""
    if trend.rate is None:
        return "-"
    if trend.days is None:
        return "not growing" if trend.soonest is None else f"not growing; {_days(trend.soonest)} at worst"
    text = _days(trend.days)
    if trend.days <= 0:
        return text
    if trend.soonest is None:
        return f"{text}, unsure"
    late = "never" if trend.latest is None else f"{trend.latest:.0f}"
    return f"{text} ({trend.soonest:.0f} to {late})"


def _days(count: float) -> str:
    if count <= 0:
        return "reached"
    return f"{count:.0f} days" if count < 730 else f"{count / 365:.0f} years"


def after(price: CellPrice) -> str:
    """What a change makes of a wheel: ``2.143 GiB (2.140 GiB to 2.150 GiB)``."""
    if price.after is None:
        return "gone" if price.before is not None and price.basis.startswith("it is not built") else "not known"
    if price.low is None or price.high is None or price.low == price.high:
        return size(price.after)
    return f"{size(price.after)} ({span(price.low, price.high)})"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names in a row; how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
