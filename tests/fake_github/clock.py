"""A clock that moves only when it is told to, or when somebody sleeps."""

from __future__ import annotations

import random
import threading

from fatwheel.clock import Clock

START = 1_790_000_000.0


class VirtualClock(Clock):
    """Sleeping moves it forward at once; for several sleepers it goes to the latest of their ends."""

    def __init__(self, seed: int = 0) -> None:
        self.now = START
        self.slept: list[float] = []
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def monotonic(self) -> float:
        with self._lock:
            self.now += 1e-6
            return self.now

    def wall(self) -> float:
        return self.monotonic()

    def sleep(self, seconds: float, stop: threading.Event | None = None) -> None:
        del stop
        with self._lock:
            self.now += max(0.0, seconds)
            self.slept.append(seconds)

    def chance(self) -> float:
        with self._lock:
            return self._random.random()
