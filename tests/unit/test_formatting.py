"""Numbers are formatted in one way everywhere."""

from __future__ import annotations

import pytest

from fatwheel.formatting import count_of, duration, join_names, percent, signed_size, size_range
from fatwheel.sizes import size


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (2400, "2.34 KiB"), (820_000_000, "782 MiB"), (2 << 30, "2.000 GiB"), (-(256 << 20), "-256 MiB")],
)
def test_sizes_have_binary_units(count: int, text: str) -> None:
    assert size(count) == text


def test_sizes_that_are_differences_or_ranges() -> None:
    assert signed_size(256 << 20) == "+256 MiB"
    assert signed_size(-(256 << 20)) == "-256 MiB"
    assert size_range(550 << 20, 622 << 20) == "550 to 622 MiB"
    assert size_range(550 << 20, 2 << 30) == "550 MiB to 2.000 GiB"
    assert size_range(5 << 20, 5 << 20) == "5.00 MiB"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (45, "45 s"), (300, "5 min"), (5400, "90 min"), (9000, "150 min"), (18000, "5 h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_percentages_counts_and_names() -> None:
    assert percent(1.9, 2) == "95.0%"
    assert count_of(1, "wheel") == "1 wheel"
    assert count_of(0, "wheel") == "0 wheels"
    assert join_names(["a", "b", "c"], 2) == "a, b and 1 more"
    assert join_names(["a", "b"]) == "a, b"
