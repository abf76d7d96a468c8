"""Retries: call a function again until it succeeds or its failure is final."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from fatwheel.errors import PipelineError

if TYPE_CHECKING:
    import tenacity

T = TypeVar("T")
Notify = Callable[[str], None]
"""Shows a line of progress to the user."""

REPORTED_WAIT = 2.0
"""Seconds. Shorter waits are not reported."""


def call_with_retries(
    call: Callable[[], T],
    next_wait: Callable[[Exception], float | None],
    *,
    sleep: Callable[[float], None],
    notify: Notify | None = None,
) -> T:
    """Return what ``call`` returns, calling it again after failures.

    ``next_wait`` is called once per failure. It returns the seconds to wait before the next attempt, or None if the
    failure is final; a final failure is raised unchanged. ``notify`` receives one line before each long wait, such as
    "502 Bad Gateway; retrying in 8 s".
    """
    import tenacity  # only commands that use the network pay for it

    wait: float | None = None

    def is_temporary(error: BaseException) -> bool:
        nonlocal wait
        wait = next_wait(error) if isinstance(error, Exception) else None
        return wait is not None

    def report(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if notify and error and wait is not None and wait >= REPORTED_WAIT:
            notify(f"{_first_line(error)}; retrying in {wait:,.0f} s")

    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception(is_temporary), wait=lambda _state: wait or 0.0, before_sleep=report,
        sleep=sleep, reraise=True,
    )  # fmt: skip
    return attempts(call)


def _first_line(error: BaseException) -> str:
    text = error.what if isinstance(error, PipelineError) else str(error)
    return next(iter(text.splitlines()), "") or type(error).__name__
