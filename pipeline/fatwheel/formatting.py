"""Format values for users, identically in the terminal, in HTML and in Markdown; `sizes` formats bytes."""

from __future__ import annotations

from collections.abc import Sequence

from fatwheel.sizes import size


def signed_size(count: float) -> str:
    """Bytes with a sign: ``+256 MiB``."""
    return f"+{size(count)}" if count > 0 else size(count)


def size_range(low: float, high: float) -> str:
    """Two bounds in bytes, ``550 to 622 MiB``; only one if both look the same."""
    first, last = size(low), size(high)
    if first == last:
        return first
    return f"{first.removesuffix(last[-4:])} to {last}" if first[-4:] == last[-4:] else f"{first} to {last}"


def percent(part: float, whole: float) -> str:
    """``95.3%``."""
    return f"{100 * part / whole:.1f}%"


def duration(seconds: float) -> str:
    """``45 s``, ``90 min``, ``5 h``: minutes from two minutes on, hours if they are whole and at least two."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h" if minutes >= 120 and minutes % 60 == 0 else f"{minutes} min"


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """``1 wheel``, ``2 wheels``; ``plural``: of an irregular noun."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def join_names(names: Sequence[str], most: int = 6) -> str:
    """Names separated by commas, cut after ``most``: ``a, b and 3 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
