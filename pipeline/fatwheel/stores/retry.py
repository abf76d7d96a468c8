"""How often a request to a store is retried, and how long to wait in between."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from fatwheel.clock import Clock
from fatwheel.retry import call_with_retries
from fatwheel.stores.store_errors import FailureKind, StoreFailure

T = TypeVar("T")

RETRIED = frozenset(
    {FailureKind.TRANSIENT, FailureKind.LIMITED, FailureKind.AMBIGUOUS, FailureKind.GONE, FailureKind.TAKEN}
)


@dataclass(frozen=True)
class RetryPolicy:
    """The limits of a release. All times are in seconds."""

    workers: int = 3  # parallel uploads: two to four saturate a link; more run into secondary rate limits
    attempts: int = 6  # attempts of one request, not counting those that were rate-limited
    limited: int = 40  # times that one request may be rate-limited
    first_wait: float = 1.0  # doubled after each failure, with full jitter
    longest_wait: float = 60.0
    limited_wait: float = 60.0  # when the store gives no time for a rate limit; doubled each time
    longest_limited_wait: float = 3700.0  # a primary rate limit resets every hour; a longer wait is a failure
    looks: tuple[float, ...] = (0.0, 1.0, 2.0, 4.0, 8.0)  # before each check whether an upload arrived after all


class Retrier:
    """The attempts of one request. ``on_limit`` receives the seconds of each wait that the store requests."""

    def __init__(
        self,
        policy: RetryPolicy,
        clock: Clock,
        stop: threading.Event,
        *,
        on_limit: Callable[[float], None] | None = None,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        self.policy = policy
        self.clock = clock
        self.stop = stop
        self.on_limit = on_limit
        self.notify = notify
        self.failures = 0
        self.limits = 0

    def call(self, request: Callable[..., T], *arguments: Any) -> T:
        """Return what ``request`` returns, retrying failures that may pass. The last failure is raised unchanged."""
        return call_with_retries(
            lambda: request(*arguments),
            self._next_wait,
            sleep=lambda seconds: self.clock.sleep(seconds, self.stop),
            notify=self.notify,
        )

    def _next_wait(self, error: Exception) -> float | None:
        if not isinstance(error, StoreFailure) or error.kind not in RETRIED:
            return None
        if error.kind is FailureKind.LIMITED:
            self.limits += 1
        else:
            self.failures += 1
        wait = self._wait(error)
        exhausted = self.failures >= self.policy.attempts or self.limits >= self.policy.limited
        return None if exhausted or self.stop.is_set() or exceeds_longest_wait(error, self.policy) else wait

    def _wait(self, failure: StoreFailure) -> float:
        policy, jitter = self.policy, self.clock.chance()
        if failure.kind is not FailureKind.LIMITED and failure.wait is None:
            return jitter * min(policy.first_wait * 2.0 ** max(self.failures - 1, 0), policy.longest_wait)
        requested = failure.wait
        if requested is None:
            requested = min(policy.limited_wait * 2.0 ** max(self.limits - 1, 0), policy.longest_limited_wait)
        if failure.kind is FailureKind.LIMITED and self.on_limit:
            self.on_limit(requested)
        return requested + jitter  # never less than requested, and not the same for all workers


def exceeds_longest_wait(failure: StoreFailure, policy: RetryPolicy) -> bool:
    """Whether the store requests a longer wait than a run allows. Retrying earlier would only extend the limit."""
    return failure.wait is not None and failure.wait > policy.longest_limited_wait
