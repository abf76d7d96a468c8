"""Format numbers of bytes, in KiB, MiB or GiB."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB")


def size(count: float) -> str:
    """``1.906 GiB``, ``256 MiB``: three or four significant digits, at most GiB."""
    value, unit = abs(float(count)), "B"
    for unit in _UNITS:
        if value < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    figures = 0 if unit == "B" else 3 if unit == "GiB" else 2 if value < 10 else 1 if value < 100 else 0
    return f"{'-' if count < 0 else ''}{value:.{figures}f} {unit}"
