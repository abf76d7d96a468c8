"""How fast a store may be written to: a bucket of writes for each minute and each hour, and holds for everybody."""

from __future__ import annotations

import threading
from collections import deque

from fatwheel.stores.clock import Clock

BURSTS = ((80, 61.0), (500, 3601.0))
"""Writes and seconds: GitHub's limits on content-creating requests a minute and an hour, from its REST documentation,
with a second for the way there."""


class RateLimiter:
    """Lets a write through when neither the minute nor the hour is full, and nobody was told to wait."""

    def __init__(self, clock: Clock, stop: threading.Event, bursts: tuple[tuple[int, float], ...] = BURSTS) -> None:
        self._clock = clock
        self._stop = stop
        self._bursts = bursts
        self._writes: deque[float] = deque(maxlen=max((count for count, _ in bursts), default=1))
        self._held_until = 0.0
        self._lock = threading.Lock()

    def acquire(self) -> None:
        """Wait for a turn to write."""
        while not self._stop.is_set():
            with self._lock:
                wait = self._wait()
                if wait <= 0:
                    self._writes.append(self._clock.monotonic())
                    return
            self._clock.sleep(wait, self._stop)

    def hold(self, seconds: float) -> None:
        """Let nobody write for so long: one was told to wait, and the limit is everybody's."""
        with self._lock:
            self._held_until = max(self._held_until, self._clock.monotonic() + seconds)

    def _wait(self) -> float:
        now = self._clock.monotonic()
        wait = self._held_until - now
        for count, seconds in self._bursts:
            if len(self._writes) >= count:
                wait = max(wait, self._writes[-count] + seconds - now)
        return wait
