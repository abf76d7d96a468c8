"""Ends an upload that takes too long or has all but stopped."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from fatwheel.stores.clock import Clock
from fatwheel.stores.store_errors import FailureKind, StoreFailure


@dataclass(frozen=True)
class UploadLimits:
    """Seconds, and bytes per second.

    Seen in the wild: uploads wedged at 30 to 90 kB/s for hours, which no timeout of a single write finds.
    """

    connect: float = 10.0
    write: float = 60.0  # of one write
    read: float = 300.0  # for the answer to an upload: the server needs minutes to settle 2 GB after the last byte
    reply: float = 60.0  # for any other answer
    pool: float = 30.0
    deadline: float = 3600.0  # of one attempt
    slowest: float = 131072.0  # bytes per second, over the window
    window: float = 60.0


class StallDetector:
    """Watches the bytes of one attempt, up or down."""

    def __init__(self, limits: UploadLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._start = clock.monotonic()
        self._past: deque[tuple[float, int]] = deque([(self._start, 0)])

    def watch(self, taken: int) -> None:
        """Called with the bytes sent so far. Raises `StoreFailure` when the attempt is to be given up."""
        now, limits = self._clock.monotonic(), self._limits
        if now - self._start > limits.deadline:
            raise StoreFailure(f"not through within {limits.deadline:.0f} s", FailureKind.AMBIGUOUS)
        self._past.append((now, taken))
        while len(self._past) > 1 and now - self._past[1][0] >= limits.window:
            self._past.popleft()
        then, before = self._past[0]
        if now - then >= limits.window and (rate := (taken - before) / (now - then)) < limits.slowest:
            raise StoreFailure(f"all but stalled at {rate / 1000:.0f} kB/s", FailureKind.AMBIGUOUS)
