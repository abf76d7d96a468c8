"""What files are called that stations leave for each other, and the limit that releases have for one."""

from __future__ import annotations

from pathlib import Path

BUILD = ".build.json"  # behind a wheel's name: its build record
SMOKE = ".smoke.json"  # its smoke record
METADATA = ".metadata"  # its METADATA by itself (PEP 658)
EMBEDDED = "fatwheel.json"  # in a wheel's dist-info folder
MANIFEST = "manifest.json"  # of a release
SUMS = "SHA256SUMS"  # of a release
SIZE_LIMIT = 2147483648
"""Bytes. An asset must be smaller than this on GitHub ("under 2 GiB"); other stores rehearse the same rule."""

MAX_RECORD_BYTES = 64 << 20
"""Bytes. A larger file that is called like a record of fatwheel's is not one, and is not read."""


def beside(wheel: Path, ending: str) -> Path:
    """The file that belongs to a wheel: ``X.whl.build.json`` for ``X.whl``."""
    return wheel.with_name(wheel.name + ending)
