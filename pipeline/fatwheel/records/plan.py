"""The plan: the cells that a channel builds, and the exclusions. Made by `fatwheel.plan`."""

from __future__ import annotations

from fatwheel.records.base import Record
from fatwheel.records.files import SIZE_LIMIT
from fatwheel.records.report import SizeEstimate
from fatwheel.records.shim_requirements import restrict_to_extra
from fatwheel.targets import Capability, Target


class Cell(Record):
    """One wheel (or sdist) to build. Targets and covers are ascending; fields that do not apply are null or empty."""

    id: str  # cu130-aarch64-sm12x
    package: str  # distribution name
    version: str  # public version, without the local label
    cuda: str | None  # cu130
    toolkit: str | None  # 13.0
    arch: str | None  # x86_64, aarch64
    family: str | None  # sm12x; for a provider wheel, its target: sm90a; for a fat wheel, null
    axes: dict[str, str] = {}  # further axes: python, torch ...
    targets: list[Target] = []
    covers: list[Capability] = []
    local_version: str | None  # cu130.sm12x
    wheel: str  # file name of the wheel or sdist
    artifact: str  # name of the workflow artifact with the wheel
    image: str | None  # container image for the build
    runner: str | None  # label of the runner that builds
    smoke: str | None  # label of the GPU runner that tests it; null: untested
    shim: bool = False  # a shim, which requires provider wheels and is usually metadata only
    requires: list[str] = []  # exact requirements: x-sm110a==1.0+cu130 ; platform_machine == "aarch64"
    extras: dict[str, list[str]] = {}  # the same by extra

    @property
    def full_version(self) -> str:
        """Public version with the local label, as in the wheel's METADATA."""
        return f"{self.version}+{self.local_version}" if self.local_version else self.version

    @property
    def requires_dist(self) -> list[str]:
        """``requires`` and ``extras`` as the lines of METADATA's Requires-Dist."""
        return [
            *self.requires,
            *(restrict_to_extra(extra, one) for extra, wanted in self.extras.items() for one in wanted),
        ]


class Excluded(Record):
    """An excluded target of a cell, or a whole cell. ``what``: the target, or ``cell``."""

    id: str
    what: str
    reason: str


class Untested(Record):
    """A family (or target, or ``all``) without a GPU runner on one CPU architecture."""

    family: str
    arch: str
    cells: list[str]
    covers: list[Capability]  # the untested coverage of these cells


class PlannedPackage(Record):
    """A planned package. ``cells``: the number of its cells."""

    name: str
    version: str
    layout: str
    cells: int


class Plan(Record):
    """The plan of one channel."""

    packages: list[PlannedPackage]
    channel: str
    repository: str | None = None
    tag: str | None = None
    completeness: str = "complete"
    size_limit: int = SIZE_LIMIT  # bytes; wheels must be smaller
    cells: list[Cell]
    excluded: list[Excluded]
    not_proven: list[Untested] = []
    warnings: list[str] = []


class CellChange(Record):
    """A changed cell: added and removed targets and coverage, and other changed fields as (old, new)."""

    id: str
    targets_added: list[Target] = []
    targets_removed: list[Target] = []
    covers_added: list[Capability] = []
    covers_removed: list[Capability] = []
    fields: dict[str, tuple[str | None, str | None]] = {}


class PlanDiff(Record):
    """The difference between the plans of a channel at an earlier revision and now."""

    revision: str
    channel: str
    version: tuple[str | None, str]  # (old, new); old is null if the channel was not declared
    added: list[Cell]
    removed: list[Cell]
    changed: list[CellChange]
    excluded: list[Excluded] = []  # new exclusions
    included: list[Excluded] = []  # removed exclusions
    same: int  # number of cells that differ in their version only
    estimates: list[SizeEstimate] = []  # sizes after the change, if releases or wheels are given to estimate from
