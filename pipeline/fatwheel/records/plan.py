"""The plan: what one channel builds, what it leaves out, and why. Made by `fatwheel.plan`, read by everybody."""

from __future__ import annotations

from fatwheel.records.base import Record
from fatwheel.records.files import SIZE_LIMIT
from fatwheel.records.report import SizeEstimate
from fatwheel.records.shim_requirements import behind
from fatwheel.targets import Capability, Target


class Cell(Record):
    """One thing to build. Targets and covers are ascending; what does not apply is null or empty."""

    id: str  # cu130-aarch64-sm12x
    package: str  # distribution name
    version: str  # public version, without the local label
    cuda: str | None  # cu130
    toolkit: str | None  # 13.0
    arch: str | None  # x86_64, aarch64
    family: str | None  # sm12x; for a provider, its target as sm90a; for a fat wheel, null
    axes: dict[str, str] = {}  # further axes: python, torch ...
    targets: list[Target] = []
    covers: list[Capability] = []
    local_version: str | None  # cu130.sm12x
    wheel: str  # file name of the wheel (or sdist) that this cell makes
    artifact: str  # name of the workflow artifact that carries it
    image: str | None  # container image for the build
    runner: str | None  # label of the machine that builds
    smoke: str | None  # label of the GPU runner that proves it; null is "not proven"
    shim: bool = False  # metadata only: it requires the providers, and holds no file of its own
    requires: list[str] = []  # what it needs of the set, exactly: x-sm110a==1.0+cu130 ; platform_machine == "aarch64"
    extras: dict[str, list[str]] = {}  # the same behind extras

    @property
    def full_version(self) -> str:
        """Public version with the local label, as in the wheel's METADATA."""
        return f"{self.version}+{self.local_version}" if self.local_version else self.version

    @property
    def requires_dist(self) -> list[str]:
        """``requires`` and ``extras`` as the lines of METADATA's Requires-Dist."""
        return [*self.requires, *(behind(extra, one) for extra, wanted in self.extras.items() for one in wanted)]


class Excluded(Record):
    """What the declaration leaves out of a cell (``what``: a target, or ``cell`` for all of it), with its reason."""

    id: str
    what: str
    reason: str


class Untested(Record):
    """A family (a provider's target, or ``all``) on one CPU architecture that no GPU runner proves."""

    family: str
    arch: str
    cells: list[str]
    covers: list[Capability]  # what these cells promise, and nobody executes


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
    size_limit: int = SIZE_LIMIT  # bytes; a wheel must be smaller
    cells: list[Cell]
    excluded: list[Excluded]
    not_proven: list[Untested] = []
    warnings: list[str] = []


class CellChange(Record):
    """One cell that both plans have, with what was added and removed, and other fields that differ (old, new)."""

    id: str
    targets_added: list[Target] = []
    targets_removed: list[Target] = []
    covers_added: list[Capability] = []
    covers_removed: list[Capability] = []
    fields: dict[str, tuple[str | None, str | None]] = {}


class PlanDiff(Record):
    """What differs between the plans of one channel at an earlier revision and now."""

    revision: str
    channel: str
    version: tuple[str | None, str]  # then (null where there was no such channel), now
    added: list[Cell]
    removed: list[Cell]
    changed: list[CellChange]
    excluded: list[Excluded] = []  # what is left out now, and was not
    included: list[Excluded] = []  # what was left out, and is not any more
    same: int  # cells that differ in nothing but the version
    estimates: list[SizeEstimate] = []  # sizes after the change, if releases or wheels are given to estimate from
