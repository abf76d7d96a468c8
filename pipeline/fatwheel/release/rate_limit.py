"""Limits how fast a store is written to: a number of writes per minute and hour, and the waits that it requests."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from fatwheel.clock import Clock
from fatwheel.retry import REPORTED_WAIT

BURSTS = ((80, 61.0), (500, 3601.0))
"""Writes and seconds: GitHub's limits on content-creating requests per minute and hour, from its REST documentation,
plus one second for the time that a request travels."""


class RateLimiter:
    """Delays writes until the minute and the hour have room and no wait requested by the store remains.

    ``notify`` receives one line for each long wait, however many threads it delays.
    """

    def __init__(
        self,
        clock: Clock,
        stop: threading.Event,
        bursts: tuple[tuple[int, float], ...] = BURSTS,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        self._clock = clock
        self._stop = stop
        self._bursts = bursts
        self._notify = notify
        self._writes: deque[float] = deque(maxlen=max((count for count, _ in bursts), default=1))
        self._held_until = 0.0
        self._reported_until = 0.0
        self._lock = threading.Lock()

    def acquire(self) -> None:
        """Wait until a write is allowed; a set ``stop`` ends the wait."""
        while not self._stop.is_set():
            with self._lock:
                now = self._clock.monotonic()
                wait = self._wait(now)
                if wait <= 0:
                    self._writes.append(now)
                    return
                self._report(now, wait)
            self._clock.sleep(wait, self._stop)

    def hold(self, seconds: float) -> None:
        """Delay all writes by this many seconds: a rate limit applies to every thread."""
        with self._lock:
            self._held_until = max(self._held_until, self._clock.monotonic() + seconds)

    def _wait(self, now: float) -> float:
        wait = self._held_until - now
        for count, seconds in self._bursts:
            if len(self._writes) >= count:
                wait = max(wait, self._writes[-count] + seconds - now)
        return wait

    def _report(self, now: float, wait: float) -> None:
        if self._notify is None or wait < REPORTED_WAIT or now + wait < self._reported_until + REPORTED_WAIT:
            return
        # A wait requested by the store is reported by the rejected request.
        if now + wait > self._held_until + REPORTED_WAIT:
            self._notify(f"the write limit of the store is reached; continuing in {wait:,.0f} s")
        self._reported_until = now + wait
