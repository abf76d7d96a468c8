"""Time and random numbers, passed as an argument so that tests can replace them."""

from __future__ import annotations

import random
import threading
import time


class Clock:
    """The system clock. All times are in seconds."""

    def monotonic(self) -> float:
        """Return a time that never decreases."""
        return time.monotonic()

    def wall(self) -> float:
        """Return the seconds since 1970, UTC."""
        return time.time()

    def sleep(self, seconds: float, stop: threading.Event | None = None) -> None:
        """Wait; a set ``stop`` ends the wait early."""
        if stop is not None:
            stop.wait(seconds)
        else:
            time.sleep(seconds)

    def chance(self) -> float:
        """Return a random number in [0, 1)."""
        return random.random()  # noqa: S311  (jitter is not a secret)
