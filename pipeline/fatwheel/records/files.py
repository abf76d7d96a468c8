"""The names of files that stages exchange, and size limits."""

from __future__ import annotations

from pathlib import Path

BUILD = ".build.json"  # suffix of a wheel's build record
SMOKE = ".smoke.json"  # suffix of its smoke record
METADATA = ".metadata"  # suffix of a copy of its METADATA (PEP 658)
EMBEDDED = "fatwheel.json"  # embedded metadata, in the dist-info folder of a wheel
MANIFEST = "manifest.json"  # of a release
SUMS = "SHA256SUMS"  # of a release
SIZE_LIMIT = 2147483648
"""Bytes. GitHub rejects release assets of this size or larger; folder stores do the same."""

MAX_RECORD_BYTES = 64 << 20
"""Bytes. Larger files with the name of a record are not read."""


def beside(wheel: Path, ending: str) -> Path:
    """The path of a file next to a wheel: ``X.whl.build.json`` for ``X.whl``."""
    return wheel.with_name(wheel.name + ending)
