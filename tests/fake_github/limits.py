"""The rate limits: so many requests an hour, so many writes a minute and an hour."""

from __future__ import annotations

import threading
from collections import deque

from fatwheel.clock import Clock


class Limiter:
    """GitHub's primary and secondary limits on a clock. 0 is no limit."""

    def __init__(self, clock: Clock, *, hourly: int = 5000, minute: int = 0, hour: int = 0, say: bool = True) -> None:
        self.clock = clock
        self.hourly = hourly
        self.minute = minute
        self.hour = hour
        self.say = say  # with a Retry-After header, or without
        self.refused = 0
        self._used: deque[float] = deque()
        self._writes: deque[float] = deque()
        self._lock = threading.Lock()

    def headers(self) -> dict[str, str]:
        with self._lock:
            self._forget()
            reset = int((self._used[0] if self._used else self.clock.wall()) + 3600)
            return {
                "x-ratelimit-limit": str(self.hourly), "x-ratelimit-remaining": str(self.hourly - len(self._used)),
                "x-ratelimit-used": str(len(self._used)), "x-ratelimit-reset": str(reset),
                "x-ratelimit-resource": "core",
            }  # fmt: skip

    def primary(self) -> bool:
        """Count a request; False if the hour is used up."""
        with self._lock:
            self._forget()
            if len(self._used) >= self.hourly:
                return False
            self._used.append(self.clock.wall())
            return True

    def secondary(self) -> float | None:
        """Count a write; the seconds to wait if there were too many."""
        with self._lock:
            now = self.clock.wall()
            while self._writes and now - self._writes[0] >= 3600:
                self._writes.popleft()
            for count, seconds in ((self.minute, 60.0), (self.hour, 3600.0)):
                recent = [moment for moment in self._writes if now - moment < seconds]
                if count and len(recent) >= count:
                    self.refused += 1
                    return recent[0] + seconds - now
            self._writes.append(now)
            return None

    def _forget(self) -> None:
        now = self.clock.wall()
        while self._used and now - self._used[0] >= 3600:
            self._used.popleft()
