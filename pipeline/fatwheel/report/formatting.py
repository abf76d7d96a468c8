"""Format report values, identically in the terminal, the step summary and the HTML report."""

from __future__ import annotations

from collections.abc import Sequence

from fatwheel.records.report import SizeEstimate, TargetSize, Trend, WheelBudget
from fatwheel.sizes import size


def signed_size(count: float) -> str:
    """Bytes with a sign: ``+256 MiB``."""
    return f"+{size(count)}" if count > 0 else size(count)


def size_range(low: float, high: float) -> str:
    """Two bounds, ``550 to 622 MiB``; only one if both look the same."""
    first, last = size(low), size(high)
    if first == last:
        return first
    return f"{first.removesuffix(last[-4:])} to {last}" if first[-4:] == last[-4:] else f"{first} to {last}"


def percent(part: float, whole: float) -> str:
    """``95.3%``."""
    return f"{100 * part / whole:.1f}%"


def growth(row: WheelBudget) -> str:
    """The growth since the previous release, ``+45.0 MiB, +2.4%``; for other than whole wheels, their kind."""
    if row.kind != "whole":
        return row.kind
    if row.growth is None or not row.before:
        return "new"
    return f"{signed_size(row.growth)}, {100 * row.growth / row.before:+.1f}%" if row.growth else "unchanged"


def bounds(estimate: TargetSize) -> str:
    """The range of an estimate; empty for an exact value."""
    return size_range(estimate.low, estimate.high) if estimate.low != estimate.high else ""


def rate(trend: Trend) -> str:
    """Bytes per day: ``+2.80 MiB``."""
    return signed_size(trend.rate) if trend.rate is not None else "-"


def rate_range(trend: Trend) -> str:
    """The confidence interval of the rate; empty if unknown."""
    return size_range(trend.low, trend.high) if trend.low is not None and trend.high is not None else ""


def time_left(trend: Trend) -> str:
    """The time until the limit: ``34 days (28 to 45)``."""
    if trend.rate is None:
        return "-"
    if trend.days is None:
        return "not growing" if trend.soonest is None else f"not growing; {_duration(trend.soonest)} at worst"
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


def estimated_size(estimate: SizeEstimate) -> str:
    """The size after a change: ``2.143 GiB (2.140 GiB to 2.150 GiB)``."""
    if estimate.change == "removed":
        return "removed"
    if estimate.after is None:
        return "unknown"
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return size(estimate.after)
    return f"{size(estimate.after)} ({size_range(estimate.low, estimate.high)})"


def count_of(number: int, noun: str) -> str:
    """``1 wheel``, ``2 wheels``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def join_names(names: Sequence[str], most: int = 6) -> str:
    """Names separated by commas, cut after ``most``: ``a, b and 3 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
