"""What a release holds and why: ``manifest.json``, uploaded with its wheels."""

from __future__ import annotations

from fatwheel.digests import Digest
from fatwheel.records.base import Record
from fatwheel.records.build import BuildRecord
from fatwheel.records.plan import Plan
from fatwheel.records.smoke import SmokeRecord


class ManifestAsset(Record):
    """One asset that is live. ``build`` and ``smoke`` are null for files that fatwheel did not build."""

    name: str
    size: int  # bytes
    sha256: Digest
    build: BuildRecord | None = None
    smoke: SmokeRecord | None = None


class Absence(Record):
    """One wanted asset that is not live: its outcome and the reason. ``elsewhere`` is the other store that holds it."""

    name: str
    outcome: str
    reason: str
    elsewhere: str | None = None


class Manifest(Record):
    """The whole release. It holds no times, so that equal releases have equal bytes."""

    version: int = 1
    tag: str
    commit: str | None = None
    plan: Plan | None = None
    assets: list[ManifestAsset] = []  # by name
    absent: list[Absence] = []  # by name
