"""What every wheel that fatwheel packs says of itself: ``*.dist-info/fatwheel.json``."""

from __future__ import annotations

from pipeline.records.base import Record


class WheelStamp(Record):
    """Targets, covered capabilities, toolkit and commit of a wheel; readable before anything is imported."""

    distribution: str
    version: str  # with the local label
    cuda: str | None
    toolkit: str | None
    arch: str | None
    family: str | None
    targets: list[str]
    covers: list[str]
    commit: str | None
    slice: list[str] | None = None
    placeholder: bool = False
