"""Growth over releases: a robust slope with its interval, and the days until the limit.

The slope is Theil and Sen's: the median of the slopes between any two releases, which a few odd ones do not move. Where
a step lies between two releases (targets came, a module was added), they are not compared: what is left is how the
wheel grows by itself. The interval is Sen's, by the normal approximation of Kendall's S, over the stretches between the
steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

_Z95 = 1.959964  # two-sided 95 % of the normal distribution
_LEAST = 4  # releases in all, below which an interval would be a guess
_SCALE = 1.4826  # makes a median absolute deviation one standard deviation of a normal distribution
_FAR = 6.0  # such deviations from the median make a step
_STEP_SHARE = 0.01  # of the wheel: less is no step, however even the rest is


@dataclass(frozen=True)
class Slope:
    """Bytes a day. ``low`` and ``high`` bound it with 95 % confidence; None where there are too few releases."""

    rate: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Left:
    """Days until a limit, from today's rate, the highest and the lowest. None: never at that rate."""

    days: float | None
    soonest: float | None
    latest: float | None


def steps(sizes: Sequence[int]) -> frozenset[int]:
    """Places (of the later release) where a wheel grew or shrank far more than it does from release to release."""
    changes = [later - earlier for earlier, later in pairwise(sizes)]
    if len(changes) < _LEAST:
        return frozenset()
    middle = median(changes)
    spread = _SCALE * median(abs(change - middle) for change in changes)
    return frozenset(
        place + 1
        for place, change in enumerate(changes)
        if abs(change - middle) > max(_FAR * spread, _STEP_SHARE * max(sizes[place], 1))
    )


def slope(points: Sequence[tuple[float, int]], breaks: frozenset[int] = frozenset()) -> Slope | None:
    """The slope through (day, bytes), ascending; ``breaks`` are places at which a new stretch begins.

    None where no two releases of one stretch lie at different times.
    """
    stretches = _stretches(points, breaks)
    slopes = sorted(
        (b[1] - a[1]) / (b[0] - a[0])
        for stretch in stretches
        for place, a in enumerate(stretch)
        for b in stretch[place + 1 :]
        if b[0] > a[0]
    )
    if not slopes:
        return None
    counts = [len(stretch) for stretch in stretches if len(stretch) > 1]
    if sum(counts) < _LEAST:
        return Slope(median(slopes), None, None)
    variance = sum(n * (n - 1) * (2 * n + 5) / 18.0 for n in counts)
    reach = _Z95 * math.sqrt(variance)
    low = math.floor((len(slopes) - reach) / 2.0)
    high = math.ceil((len(slopes) + reach) / 2.0)
    return Slope(median(slopes), slopes[max(low, 0)], slopes[min(high, len(slopes) - 1)])


def left(room: int, growth: Slope) -> Left:
    """How long ``room`` bytes last."""
    fast = growth.high if growth.high is not None else growth.rate
    slow = growth.low if growth.low is not None else growth.rate
    if growth.low is None:
        return Left(_days(room, growth.rate), None, None)
    return Left(_days(room, growth.rate), _days(room, fast), _days(room, slow))


def _days(room: int, rate: float) -> float | None:
    if room <= 0:
        return 0.0
    return room / rate if rate > 0 else None


def _stretches(points: Sequence[tuple[float, int]], breaks: frozenset[int]) -> list[Sequence[tuple[float, int]]]:
    edges = [0, *sorted(place for place in breaks if 0 < place < len(points)), len(points)]
    return [points[start:end] for start, end in pairwise(edges) if end > start]
