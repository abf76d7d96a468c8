"""Tries, waits, the pace and the guard, on a clock that costs nothing."""

from __future__ import annotations

import threading

import pytest

from fatwheel.release.rate_limit import RateLimiter
from fatwheel.stores.retry import Retrier, RetryPolicy
from fatwheel.stores.store_errors import FailureKind, StoreFailure
from fatwheel.stores.upload_timeout import StallDetector, UploadLimits
from tests.fake_github.clock import VirtualClock


def tries(*failures: StoreFailure, policy: RetryPolicy | None = None) -> tuple[VirtualClock, int, StoreFailure | None]:
    """How a request fares that fails like this, and then succeeds: the clock, the tries, and the failure at the end."""
    clock, left, count = VirtualClock(), list(failures), 0

    def request() -> None:
        nonlocal count
        count += 1
        if left:
            raise left.pop(0)

    try:
        Retrier(policy or RetryPolicy(), clock, threading.Event()).call(request)
    except StoreFailure as failure:
        return clock, count, failure
    return clock, count, None


def passing(kind: FailureKind = FailureKind.TRANSIENT, wait: float | None = None) -> StoreFailure:
    return StoreFailure("it failed", kind, wait=wait)


def test_what_passes_is_tried_again_with_growing_jittered_waits() -> None:
    clock, count, failure = tries(*[passing()] * 5)
    assert (count, failure) == (6, None)
    assert len(clock.slept) == 5
    assert all(0 < wait <= 2**place for place, wait in enumerate(clock.slept))
    assert len(set(clock.slept)) == 5


def test_attempts_are_bounded_and_the_last_failure_is_raised_as_it_is() -> None:
    _, count, failure = tries(*[passing()] * 100)
    assert count == 6
    assert failure is not None
    assert failure.what == "it failed"


@pytest.mark.parametrize("kind", [FailureKind.ASSET, FailureKind.RELEASE])
def test_what_is_permanent_is_not_tried_again(kind: FailureKind) -> None:
    _, count, failure = tries(passing(kind))
    assert count == 1
    assert failure is not None


def test_a_wait_that_is_asked_for_is_never_cut_short() -> None:
    clock, _, _ = tries(passing(FailureKind.LIMITED, 120), passing(FailureKind.AMBIGUOUS, 7))
    assert clock.slept[0] >= 120
    assert clock.slept[1] >= 7


def test_being_told_to_wait_uses_up_no_attempt() -> None:
    _, count, failure = tries(*[passing(FailureKind.LIMITED, 1)] * 20, *[passing()] * 5)
    assert (count, failure) == (26, None)


def test_even_waiting_ends() -> None:
    _, count, failure = tries(*[passing(FailureKind.LIMITED)] * 1000)
    assert count == RetryPolicy().limited
    assert failure is not None


def test_a_limit_without_a_time_waits_a_minute_and_then_longer() -> None:
    clock, _, _ = tries(*[passing(FailureKind.LIMITED)] * 3)
    assert [int(wait) // 60 for wait in clock.slept] == [1, 2, 4]


def test_no_more_writes_than_the_minute_and_the_hour_allow() -> None:
    clock = VirtualClock()
    pacer = RateLimiter(clock, threading.Event())
    moments = []
    for _ in range(700):
        pacer.acquire()
        moments.append(clock.now)
    for place, moment in enumerate(moments):
        assert sum(moment - 60 < m <= moment for m in moments[: place + 1]) <= 80
        assert sum(moment - 3600 < m <= moment for m in moments[: place + 1]) <= 500


def test_a_hold_is_for_everybody() -> None:
    clock = VirtualClock()
    pacer = RateLimiter(clock, threading.Event())
    start = clock.now
    pacer.hold(90)
    pacer.acquire()
    assert clock.now - start >= 90


def test_a_stop_ends_all_waiting() -> None:
    stop = threading.Event()
    clock = VirtualClock()
    start = clock.now
    pacer = RateLimiter(clock, stop)
    pacer.hold(1e9)
    stop.set()
    pacer.acquire()
    assert clock.now - start < 1e9


def send(
    guard: StallDetector, clock: VirtualClock, *, start: int = 0, each: int, seconds: float, times: int = 2000
) -> None:
    """So many writes of ``each`` bytes, one every few seconds."""
    for count in range(1, times + 1):
        clock.sleep(seconds)
        guard.watch(start + count * each)


def test_an_upload_that_all_but_stalls_is_given_up() -> None:
    clock = VirtualClock()
    guard = StallDetector(UploadLimits(), clock)
    with pytest.raises(StoreFailure, match="stalled at 59 KiB/s"):
        send(guard, clock, each=600_000, seconds=10)
    assert sum(clock.slept) < 120


def test_an_upload_that_is_slow_but_moves_is_let_go_on() -> None:
    clock = VirtualClock()
    start = clock.now
    send(StallDetector(UploadLimits(), clock), clock, each=300_000, seconds=1, times=1800)
    assert clock.now - start >= 1800


def test_a_stall_after_a_quick_start_is_found() -> None:
    clock = VirtualClock()
    guard = StallDetector(UploadLimits(), clock)
    send(guard, clock, each=1 << 30, seconds=1, times=1)
    with pytest.raises(StoreFailure, match="stalled"):
        send(guard, clock, start=1 << 30, each=1000, seconds=5)


def test_an_attempt_has_a_deadline() -> None:
    clock = VirtualClock()
    guard = StallDetector(UploadLimits(deadline=100), clock)
    with pytest.raises(StoreFailure, match="not finished within 100 s"):
        send(guard, clock, each=1 << 20, seconds=1)


def test_long_waits_are_reported_and_short_ones_are_not() -> None:
    clock, lines, left = VirtualClock(), [], [passing(FailureKind.LIMITED, 8), passing(wait=0.5)]

    def request() -> str:
        if left:
            raise left.pop(0)
        return "done"

    assert Retrier(RetryPolicy(), clock, threading.Event(), notify=lines.append).call(request) == "done"
    (line,) = lines
    assert line in {"it failed; retrying in 8 s", "it failed; retrying in 9 s"}


def test_a_full_minute_is_reported_once() -> None:
    clock, lines = VirtualClock(), []
    pacer = RateLimiter(clock, threading.Event(), ((2, 61.0),), lines.append)
    for _ in range(4):
        pacer.acquire()
    assert lines == ["the write limit of the store is reached; continuing in 61 s"]
