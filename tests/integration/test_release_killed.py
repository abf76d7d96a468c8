"""SIGKILL between two requests to a GitHub server: what was good stays, and the next run finishes.

Here at every fifth request; `benchmarks/faults.py` kills at every one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fake_github.kills import really, survive

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("replacing", [False, True], ids=["new", "replacing"])
def test_any_death_is_survived(tmp_path: Path, replacing: bool, after: bool) -> None:
    survived = 0
    for at in range(1 + 2 * replacing + after, 100, 5):
        if not survive(tmp_path, at, after=after, replacing=replacing):
            break
        survived += 1
    assert survived >= 4


@pytest.mark.parametrize("at", [1, 8])
def test_a_real_kill_is_resumed_from_the_record(tmp_path: Path, at: int) -> None:
    assert really(tmp_path, at)
