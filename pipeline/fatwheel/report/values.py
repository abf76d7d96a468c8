"""Format report values, identically in the terminal, the step summary and the HTML report."""

from __future__ import annotations

from fatwheel.formatting import signed_size, size_range
from fatwheel.records.report import SizeEstimate, Trend, WheelBudget
from fatwheel.sizes import size


def format_growth(row: WheelBudget) -> str:
    """The growth since the previous release, ``+45.0 MiB, +2.4%``; for other than whole wheels, their kind."""
    if row.kind != "whole":
        return "partial" if row.kind == "slice" else row.kind
    if row.growth is None or not row.before:
        return "new"
    return f"{signed_size(row.growth)}, {100 * row.growth / row.before:+.1f}%" if row.growth else "unchanged"


def format_rate(trend: Trend) -> str:
    """Bytes per day: ``+2.80 MiB``."""
    return signed_size(trend.rate) if trend.rate is not None else "-"


def format_rate_range(trend: Trend) -> str:
    """The confidence interval of the rate; empty if unknown."""
    return size_range(trend.low, trend.high) if trend.low is not None and trend.high is not None else ""


def format_time_left(trend: Trend) -> str:
    """The time until the limit: ``34 days (28 to 45)``."""
    if trend.rate is None:
        return "-"
    if trend.days is None:
        return "not growing" if trend.soonest is None else f"not growing ({_duration(trend.soonest)} in the worst case)"
    text = _duration(trend.days)
    if trend.days <= 0:
        return text
    if trend.soonest is None:
        return f"about {text}"
    late = "never" if trend.latest is None else f"{trend.latest:.0f}"
    return f"{text} ({trend.soonest:.0f} to {late})"


def _duration(days: float) -> str:
    if days <= 0:
        return "reached"
    return f"{days:.0f} days" if days < 730 else f"{days / 365:.0f} years"


def format_estimate(estimate: SizeEstimate) -> str:
    """The size after a change: ``2.143 GiB (2.140 GiB to 2.150 GiB)``."""
    if estimate.change == "removed":
        return "removed"
    if estimate.after is None:
        return "unknown"
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return size(estimate.after)
    return f"{size(estimate.after)} ({size_range(estimate.low, estimate.high)})"
