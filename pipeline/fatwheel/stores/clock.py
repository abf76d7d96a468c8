"""Time and chance, passed in so that a test can hold them."""

from __future__ import annotations

import random
import threading
import time


class Clock:
    """The real ones. Seconds everywhere."""

    def monotonic(self) -> float:
        """A time that never goes back."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970, UTC."""
        return time.time()

    def sleep(self, seconds: float, stop: threading.Event | None = None) -> None:
        """Wait; a set ``stop`` ends it early."""
        if stop is not None:
            stop.wait(seconds)
        else:
            time.sleep(seconds)

    def chance(self) -> float:
        """A number in [0, 1)."""
        return random.random()  # noqa: S311  (jitter is no secret)
