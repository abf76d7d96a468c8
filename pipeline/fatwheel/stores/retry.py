"""How often and how long a request is tried: tenacity, with the waits that a store asks for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fatwheel.stores.clock import Clock
from fatwheel.stores.store_errors import FailureKind, StoreFailure

if TYPE_CHECKING:
    import tenacity

PASSING = frozenset(
    {FailureKind.TRANSIENT, FailureKind.LIMITED, FailureKind.AMBIGUOUS, FailureKind.GONE, FailureKind.TAKEN}
)


@dataclass(frozen=True)
class RetryPolicy:
    """The numbers of a release. Seconds and bytes per second."""

    workers: int = 3  # uploads at a time: two to four saturate a link; more meet the secondary limits
    attempts: int = 6  # tries of one request, not counting those that were told to wait
    limited: int = 40  # times that one request may be told to wait
    first_wait: float = 1.0  # doubled each time, with full jitter
    longest_wait: float = 60.0
    limited_wait: float = 60.0  # where the store asks for a wait without saying how long, doubled each time
    longest_limited_wait: float = 3700.0  # a primary limit is renewed every hour; who asks for more is not waited for
    looks: tuple[float, ...] = (0.0, 1.0, 2.0, 4.0, 8.0)  # before each look for an upload that may have landed


class Retrier:
    """One request's tries. ``on_limit`` hears of the waits that a store asks for."""

    def __init__(
        self, policy: RetryPolicy, clock: Clock, stop: threading.Event, on_limit: Callable[[float], None] | None = None
    ) -> None:
        self.policy = policy
        self.clock = clock
        self.stop = stop
        self.on_limit = on_limit
        self.failures = 0
        self.limits = 0

    def retrying(self, kinds: frozenset[FailureKind] = PASSING) -> tenacity.Retrying:
        """Try again on failures of these kinds; the last failure is raised as it is."""
        import tenacity

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(lambda e: isinstance(e, StoreFailure) and e.kind in kinds),
            after=self._count,
            wait=self._wait,
            stop=self._exhausted,
            sleep=lambda seconds: self.clock.sleep(seconds, self.stop),
            reraise=True,
        )

    def _count(self, state: tenacity.RetryCallState) -> None:
        if _failure(state).kind is FailureKind.LIMITED:
            self.limits += 1
        else:
            self.failures += 1

    def _exhausted(self, state: tenacity.RetryCallState) -> bool:
        if self.stop.is_set() or self.failures >= self.policy.attempts or self.limits >= self.policy.limited:
            return True
        return too_long(_failure(state), self.policy)

    def _wait(self, state: tenacity.RetryCallState) -> float:
        failure, policy = _failure(state), self.policy
        jitter = self.clock.chance()
        if failure.kind is FailureKind.LIMITED or failure.wait is not None:
            asked = failure.wait
            if asked is None:
                asked = min(policy.limited_wait * 2.0 ** max(self.limits - 1, 0), policy.longest_limited_wait)
            if failure.kind is FailureKind.LIMITED and self.on_limit:
                self.on_limit(asked)
            return asked + jitter  # never earlier than asked, and not everybody at once
        return jitter * min(policy.first_wait * 2.0 ** max(self.failures - 1, 0), policy.longest_wait)


def too_long(failure: StoreFailure, policy: RetryPolicy) -> bool:
    """Whether a store asks for a longer wait than a run may take; to come back earlier would only prolong it."""
    return failure.wait is not None and failure.wait > policy.longest_limited_wait


def _failure(state: tenacity.RetryCallState) -> StoreFailure:
    error = state.outcome.exception() if state.outcome else None
    if not isinstance(error, StoreFailure):
        raise TypeError("only failures of a store are tried again")
    return error
