"""Snapshots of wheels and their sizes, comparable from release to release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from fatwheel.errors import UsageError
from fatwheel.records.build import BuildRecord
from fatwheel.records.inventory import Inventory
from fatwheel.records.plan import Cell
from fatwheel.records.report import Kind
from fatwheel.targets import Target, toolkits
from fatwheel.wheels.formats.wheel_name import WheelName, parse_architecture


@dataclass(frozen=True, order=True)
class Series:
    """Identifies the same wheel in different releases: its file name without the version."""

    distribution: str  # normalized
    local: str  # local version label: cu130.sm12x, or empty
    tags: str

    @property
    def untagged(self) -> tuple[str, str, str | None]:
        """The series without Python, ABI and glibc tags, which may change from release to release."""
        return self.distribution, self.local, self.arch

    @property
    def arch(self) -> str | None:
        """``x86_64``; None for a wheel for any CPU."""
        return parse_architecture(self.tags.split("-")[2].split(".")[0])

    @property
    def cuda(self) -> str | None:
        """``cu130``, if the local label starts with a CUDA version."""
        first = self.local.split(".")[0]
        return first if first.startswith("cu") and first[2:].isdigit() else None

    @property
    def parts(self) -> tuple[str, ...]:
        """The distinguishing parts of the name in the order of cell IDs: CUDA, CPU, the rest of the label."""
        first, _, rest = self.local.partition(".")
        return tuple(part for part in (first, self.arch or "", *rest.split(".")) if part)


def series_of(file: str) -> Series:
    """Derive the series from a wheel's file name. Raises `UsageError` for an invalid name."""
    name = WheelName.parse(file)
    return Series(name.distribution, name.version.local or "", name.tag_text)


def kind_of(build: BuildRecord | None) -> Kind:
    """The kind of a wheel according to its build record; whole without one."""
    if build is None:
        return "whole"
    return "placeholder" if build.placeholder else "slice" if build.slice is not None else "whole"


@dataclass(frozen=True)
class SizedWheel:
    """One wheel of one release. Unknown values are None."""

    file: str
    series: Series
    bytes: int
    cell: Cell | None = None
    inventory: Inventory | None = None
    kind: Kind = "whole"
    path: Path | None = None  # on this machine

    @property
    def partial(self) -> bool:
        """Whether it has only some of its modules, or none: its size is not comparable with a whole wheel's."""
        return self.kind != "whole"

    @property
    def targets(self) -> tuple[Target, ...] | None:
        """Ascending: the cell's targets, else those of the device code."""
        if self.cell is not None:
            return tuple(self.cell.targets)
        return tuple(self.inventory.targets) if self.inventory else None

    @property
    def cuda(self) -> str | None:
        """``cu130``."""
        return self.cell.cuda if self.cell else self.series.cuda

    @property
    def arch(self) -> str | None:
        """``x86_64``."""
        return self.cell.arch if self.cell else self.series.arch

    @property
    def toolkit(self) -> str:
        """The CUDA release that compiled it: from the cell, else from the CUDA label, else the newest known one."""
        known = list(toolkits())
        if self.cell and self.cell.toolkit:
            return self.cell.toolkit
        label = (self.series.cuda or "").removeprefix("cu")
        release = f"{label[:-1]}.{label[-1]}" if len(label) > 1 else ""
        return release if release in known else known[-1]

    def with_inventory(self, read: Callable[[Path], Inventory]) -> SizedWheel:
        """The wheel with its inventory, if it is on this machine and not a placeholder."""
        if self.inventory is not None or self.path is None:
            return self
        return replace(self, inventory=read(self.path))


@dataclass(frozen=True)
class Snapshot:
    """The wheels of one release, or of a folder of unreleased wheels. ``time`` is None if unknown."""

    tag: str
    time: datetime | None
    wheels: tuple[SizedWheel, ...]

    @property
    def day(self) -> float | None:
        """The time in days since 1970."""
        return self.time.timestamp() / 86400.0 if self.time else None

    def find(self, series: Series) -> SizedWheel | None:
        """Find the wheel of a series; with other Python, ABI or glibc tags only if the match is unique."""
        exact = next((wheel for wheel in self.wheels if wheel.series == series), None)
        near = [wheel for wheel in self.wheels if wheel.series.untagged == series.untagged]
        return exact or (near[0] if len(near) == 1 else None)


def choose_labels(wheels: Iterable[SizedWheel]) -> dict[Series, str]:
    """Choose a short, unique name for each series: the cell's ID, else parts of the file name."""
    cells: dict[Series, str] = {}
    short: dict[Series, str] = {}
    for wheel in wheels:
        short.setdefault(wheel.series, "-".join(wheel.series.parts) or wheel.series.distribution)
        if wheel.cell:
            cells[wheel.series] = wheel.cell.id
    named = {series: cells.get(series, text) for series, text in short.items()}
    count = Counter(named.values())
    named = {s: f"{s.distribution} {text}" if count[text] > 1 else text for s, text in named.items()}
    count = Counter(named.values())
    return {s: f"{s.distribution} {s.local} {s.tags}" if count[text] > 1 else text for s, text in named.items()}


def is_wheel(name: str) -> bool:
    """Whether a file name is a valid wheel name."""
    if not name.endswith(".whl"):
        return False
    try:
        WheelName.parse(name)
    except UsageError:
        return False
    return True
