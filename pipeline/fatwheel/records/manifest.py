"""The manifest of a release: ``manifest.json``, uploaded with the wheels."""

from __future__ import annotations

from fatwheel.digests import Digest
from fatwheel.records.base import Record
from fatwheel.records.build import BuildRecord
from fatwheel.records.plan import Plan
from fatwheel.records.smoke import SmokeRecord


class ManifestAsset(Record):
    """An uploaded asset. ``build`` and ``smoke``: its records; null for files that fatwheel did not build."""

    name: str
    size: int  # bytes
    sha256: Digest
    build: BuildRecord | None = None
    smoke: SmokeRecord | None = None


class Absence(Record):
    """An expected asset that was not uploaded, with the reason. ``elsewhere``: the fallback store that has it."""

    name: str
    outcome: str
    reason: str
    elsewhere: str | None = None


class Manifest(Record):
    """The manifest. It contains no times, so equal releases have equal bytes."""

    version: int = 1
    tag: str
    commit: str | None = None
    plan: Plan | None = None
    assets: list[ManifestAsset] = []  # by name
    absent: list[Absence] = []  # by name
