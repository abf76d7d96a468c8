"""Retries: call a function again until it succeeds or its failure is final."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fatwheel.errors import PipelineError

T = TypeVar("T")

REPORTED_WAIT = 2.0
"""Seconds. Shorter waits are not reported."""


def call_with_retries(
    call: Callable[[], T],
    next_wait: Callable[[Exception], float | None],
    *,
    sleep: Callable[[float], None],
    notify: Callable[[str], None] | None = None,
) -> T:
    """Return what ``call`` returns, calling it again after failures.

    ``next_wait`` is called once per failure. It returns the seconds to wait before the next attempt, or None if the
    failure is final; a final failure is raised unchanged. ``notify`` receives one line before each long wait, such as
    "502 Bad Gateway; retrying in 8 s".
    """
    while True:
        try:
            return call()
        except Exception as error:
            wait = next_wait(error)
            if wait is None:
                raise
            if notify and wait >= REPORTED_WAIT:
                notify(f"{_first_line(error)}; retrying in {wait:,.0f} s")
        sleep(wait)


def _first_line(error: Exception) -> str:
    text = error.what if isinstance(error, PipelineError) else str(error)
    return next(iter(text.splitlines()), "") or type(error).__name__
