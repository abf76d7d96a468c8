"""Fit the growth over releases: a robust slope with its confidence interval, and the days until the limit.

The slope is the Theil-Sen estimator: the median of the slopes between all pairs of releases, which is robust against
outliers. Pairs of releases with a step between them (a target or module was added) are not used, so that only the
steady growth remains. The interval is Sen's, from the normal approximation of Kendall's S within the segments between
steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

_Z95 = 1.959964  # two-sided 95% quantile of the normal distribution
_MIN_RELEASES = 4  # for a confidence interval
_MAD_SCALE = 1.4826  # scales a median absolute deviation to the standard deviation of a normal distribution
_STEP_DEVIATIONS = 6.0  # deviations from the median growth that make a step
_STEP_SHARE = 0.01  # of the wheel's size; smaller changes are never a step


@dataclass(frozen=True)
class Slope:
    """Growth in bytes per day. ``low`` and ``high`` bound it with 95% confidence; None with too few releases."""

    rate: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class TimeLeft:
    """Days until a limit at the estimated, the highest and the lowest rate. None: never at that rate."""

    days: float | None
    soonest: float | None
    latest: float | None


def find_steps(sizes: Sequence[int]) -> frozenset[int]:
    """The positions (of the later release) at which a wheel grew or shrank far more than it usually does."""
    changes = [later - earlier for earlier, later in pairwise(sizes)]
    if len(changes) < _MIN_RELEASES:
        return frozenset()
    middle = median(changes)
    spread = _MAD_SCALE * median(abs(change - middle) for change in changes)
    return frozenset(
        place + 1
        for place, change in enumerate(changes)
        if abs(change - middle) > max(_STEP_DEVIATIONS * spread, _STEP_SHARE * max(sizes[place], 1))
    )


def fit_slope(points: Sequence[tuple[float, int]], breaks: frozenset[int] = frozenset()) -> Slope | None:
    """Fit a slope to points (day, bytes) in ascending order; a new segment begins at each position in ``breaks``.

    Return None if no segment has two releases at different times.
    """
    segments = _split(points, breaks)
    slopes = sorted(
        (b[1] - a[1]) / (b[0] - a[0])
        for segment in segments
        for place, a in enumerate(segment)
        for b in segment[place + 1 :]
        if b[0] > a[0]
    )
    if not slopes:
        return None
    counts = [len(segment) for segment in segments if len(segment) > 1]
    if sum(counts) < _MIN_RELEASES:
        return Slope(median(slopes), None, None)
    variance = sum(n * (n - 1) * (2 * n + 5) / 18.0 for n in counts)
    reach = _Z95 * math.sqrt(variance)
    low = math.floor((len(slopes) - reach) / 2.0)
    high = math.ceil((len(slopes) + reach) / 2.0)
    return Slope(median(slopes), slopes[max(low, 0)], slopes[min(high, len(slopes) - 1)])


def time_left(room: int, growth: Slope) -> TimeLeft:
    """Estimate when ``room`` bytes are used up."""
    fast = growth.high if growth.high is not None else growth.rate
    slow = growth.low if growth.low is not None else growth.rate
    if growth.low is None:
        return TimeLeft(_days(room, growth.rate), None, None)
    return TimeLeft(_days(room, growth.rate), _days(room, fast), _days(room, slow))


def _days(room: int, rate: float) -> float | None:
    if room <= 0:
        return 0.0
    return room / rate if rate > 0 else None


def _split(points: Sequence[tuple[float, int]], breaks: frozenset[int]) -> list[Sequence[tuple[float, int]]]:
    edges = [0, *sorted(place for place in breaks if 0 < place < len(points)), len(points)]
    return [points[start:end] for start, end in pairwise(edges) if end > start]
