"""Gives up transfers that exceed a deadline or have stalled."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from fatwheel.clock import Clock
from fatwheel.stores.store_errors import FailureKind, StoreFailure


@dataclass(frozen=True)
class UploadLimits:
    """Seconds, and bytes per second.

    Observed: uploads stalled at 30 to 90 KiB/s for hours, which the timeout of a single write does not detect.
    """

    connect: float = 10.0
    write: float = 60.0  # for one write
    read: float = 300.0  # for the response to an upload: after the last byte of 2 GiB the server needs minutes
    reply: float = 60.0  # for any other response
    pool: float = 30.0
    deadline: float = 3600.0  # for one attempt
    slowest: float = 131072.0  # bytes per second, over the window
    window: float = 60.0


class StallDetector:
    """Measures the progress of one upload or download."""

    def __init__(self, limits: UploadLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._start = clock.monotonic()
        self._past: deque[tuple[float, int]] = deque([(self._start, 0)])

    def watch(self, taken: int) -> None:
        """Record the bytes transferred so far. Raises `StoreFailure` after the deadline and on a stall."""
        now, limits = self._clock.monotonic(), self._limits
        if now - self._start > limits.deadline:
            raise StoreFailure(f"not finished within {limits.deadline:.0f} s", FailureKind.AMBIGUOUS)
        self._past.append((now, taken))
        while len(self._past) > 1 and now - self._past[1][0] >= limits.window:
            self._past.popleft()
        then, before = self._past[0]
        if now - then >= limits.window and (rate := (taken - before) / (now - then)) < limits.slowest:
            raise StoreFailure(f"stalled at {rate / 1024:.0f} KiB/s", FailureKind.AMBIGUOUS)
