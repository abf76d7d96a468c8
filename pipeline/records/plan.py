"""The plan: what one channel builds, what it leaves out, and why. Made by `pipeline.plan`, read by everybody."""

from __future__ import annotations

from pipeline.records.base import Record


class Cell(Record):
    """One thing to build. Targets and covers are dotted strings, ascending; what does not apply is null or empty."""

    id: str  # cu130-aarch64-sm12x
    package: str  # distribution name
    version: str  # public version, without the local label
    cuda: str | None  # cu130
    toolkit: str | None  # 13.0
    arch: str | None  # x86_64, aarch64
    family: str | None  # sm12x; for a provider, its target as sm90a; for a fat wheel, null
    axes: dict[str, str] = {}  # further axes: python, torch ...
    targets: list[str] = []
    covers: list[str] = []
    local_version: str | None  # cu130.sm12x
    wheel: str  # file name of the wheel (or sdist) that this cell makes
    artifact: str  # name of the workflow artifact that carries it
    image: str | None  # container image for the build
    runner: str | None  # label of the machine that builds
    smoke: str | None  # label of the GPU runner that proves it; null is "not proven"

    @property
    def full_version(self) -> str:
        """Public version with the local label, as in the wheel's METADATA."""
        return f"{self.version}+{self.local_version}" if self.local_version else self.version


class Excluded(Record):
    """What the declaration leaves out of a cell (``what``: a target, or ``cell`` for all of it), with its reason."""

    id: str
    what: str
    reason: str


class PlannedPackage(Record):
    """A package of the set, in the order of publishing."""

    name: str
    version: str
    layout: str
    cells: int


class Plan(Record):
    """What one channel builds."""

    packages: list[PlannedPackage]
    channel: str
    repository: str | None = None
    tag: str | None = None
    completeness: str = "complete"
    size_limit: int = 2147483648  # bytes; a wheel must be smaller
    cells: list[Cell]
    excluded: list[Excluded]
    warnings: list[str] = []
