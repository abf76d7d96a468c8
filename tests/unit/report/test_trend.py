"""Growth trends: robust against outliers and steps, with a confidence interval."""

from __future__ import annotations

import random

import pytest

from fatwheel.report.trend import Slope, find_steps, fit_slope, time_left

MIB = 1 << 20


def grown(days: int, rate: float, *, noise: float = 0.0, start: int = 1000 * MIB) -> list[tuple[float, int]]:
    chance = random.Random(1)
    return [(float(day), round(start + rate * day + chance.gauss(0, noise))) for day in range(days)]


def test_the_rate_of_even_growth_is_exact() -> None:
    found = fit_slope(grown(30, 2.8 * MIB))
    assert found
    assert found.rate == pytest.approx(2.8 * MIB, rel=1e-6)
    assert found.low == pytest.approx(found.high)


def test_the_interval_holds_the_rate_and_narrows_with_releases() -> None:
    few, many = fit_slope(grown(8, 2.8 * MIB, noise=3 * MIB)), fit_slope(grown(60, 2.8 * MIB, noise=3 * MIB))
    assert few and few.low is not None and few.high is not None  # noqa: PT018
    assert many and many.low is not None and many.high is not None  # noqa: PT018
    assert many.low <= 2.8 * MIB <= many.high
    assert many.high - many.low < few.high - few.low


def test_a_few_odd_releases_do_not_move_it() -> None:
    points = grown(30, 2.8 * MIB)
    for place in (4, 15, 22):
        points[place] = (points[place][0], 10 * MIB)
    found = fit_slope(points)
    assert found
    assert found.rate == pytest.approx(2.8 * MIB, rel=0.02)


def test_a_step_is_found_and_does_not_count_as_growth() -> None:
    points = [(day, size + (326 * MIB if day >= 20 else 0)) for day, size in grown(40, 2.8 * MIB, noise=MIB / 2)]
    found = find_steps([size for _, size in points])
    assert found == {20}
    growth = fit_slope(points, found)
    assert growth
    assert growth.rate == pytest.approx(2.8 * MIB, rel=0.05)


def test_even_growth_has_no_steps_and_little_history_shows_none() -> None:
    assert find_steps([size for _, size in grown(40, 2.8 * MIB, noise=MIB)]) == frozenset()
    assert find_steps([1, 1000 * MIB]) == frozenset()


def test_one_release_tells_nothing_and_three_tell_no_interval() -> None:
    assert fit_slope(grown(1, MIB)) is None
    assert fit_slope([(1.0, 5), (1.0, 7)]) is None  # on the same day
    assert fit_slope(grown(3, MIB)) == Slope(MIB, None, None)


def test_days_left_come_with_their_bounds() -> None:
    found = time_left(96 * MIB, Slope(2.8 * MIB, 2.0 * MIB, 4.0 * MIB))
    assert found.days == pytest.approx(34.3, abs=0.1)
    assert found.soonest == pytest.approx(24.0)
    assert found.latest == pytest.approx(48.0)


def test_where_it_may_not_grow_at_all_the_limit_may_never_come() -> None:
    found = time_left(96 * MIB, Slope(MIB, -MIB, 2.0 * MIB))
    assert (found.soonest, found.latest) == (48.0, None)
    assert time_left(96 * MIB, Slope(-MIB, -2 * MIB, -MIB / 2)).days is None


def test_a_wheel_over_the_limit_has_no_days_left() -> None:
    assert time_left(-1, Slope(MIB, None, None)).days == 0
