"""Wheels as a report sees them: sizes of the same wheel from release to release."""

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
from fatwheel.targets import toolkits
from fatwheel.wheels.formats.names import WheelName, architecture


@dataclass(frozen=True, order=True)
class Series:
    """What makes wheels of two releases the same one: all of the name but its version."""

    distribution: str  # normalised
    local: str  # cu130.sm12x, or empty
    tags: str

    @property
    def untagged(self) -> tuple[str, str, str | None]:
        """The same without Python, ABI and glibc, which may change from release to release."""
        return self.distribution, self.local, self.arch

    @property
    def arch(self) -> str | None:
        """``x86_64``; None for a wheel of any CPU."""
        return architecture(self.tags.split("-")[2].split(".")[0])

    @property
    def cuda(self) -> str | None:
        """``cu130``, where the local label begins with one."""
        first = self.local.split(".")[0]
        return first if first.startswith("cu") and first[2:].isdigit() else None

    @property
    def parts(self) -> tuple[str, ...]:
        """What tells wheels apart, in the order of cell ids: CUDA, CPU, the rest of the label."""
        first, _, rest = self.local.partition(".")
        return tuple(part for part in (first, self.arch or "", *rest.split(".")) if part)


def series_of(file: str) -> Series:
    """The series of a wheel's file name. Raises `UsageError` for what is no wheel's name."""
    name = WheelName.parse(file)
    return Series(name.distribution, name.version.local or "", name.tag_text)


def kind_of(build: BuildRecord | None) -> Kind:
    """What a build record says of its wheel; without one it is taken to be whole."""
    if build is None:
        return "whole"
    return "placeholder" if build.placeholder else "slice" if build.slice is not None else "whole"


@dataclass(frozen=True)
class SizedWheel:
    """One wheel of one release. What is not known is None."""

    file: str
    series: Series
    bytes: int
    cell: Cell | None = None
    inventory: Inventory | None = None
    kind: Kind = "whole"
    path: Path | None = None  # where it lies on this machine

    @property
    def partial(self) -> bool:
        """Whether its size says nothing of a whole wheel's."""
        return self.kind != "whole"

    @property
    def targets(self) -> tuple[str, ...] | None:
        """Dotted, ascending: what was asked for; where that is not known, what it holds."""
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
        """The CUDA release that compiled it; where only its label is known, what that says; else the newest known."""
        known = list(toolkits())
        if self.cell and self.cell.toolkit:
            return self.cell.toolkit
        label = (self.series.cuda or "").removeprefix("cu")
        said = f"{label[:-1]}.{label[-1]}" if len(label) > 1 else ""
        return said if said in known else known[-1]

    def with_inventory(self, read: Callable[[Path], Inventory]) -> SizedWheel:
        """The same with its inventory, where it lies here and is no placeholder."""
        if self.inventory is not None or self.path is None:
            return self
        return replace(self, inventory=read(self.path))


@dataclass(frozen=True)
class Snapshot:
    """The wheels of one release, or of a folder that is to become one. ``time`` is None where nobody tells it."""

    tag: str
    time: datetime | None
    wheels: tuple[SizedWheel, ...]

    @property
    def day(self) -> float | None:
        """Days since 1970."""
        return self.time.timestamp() / 86400.0 if self.time else None

    def find(self, series: Series) -> SizedWheel | None:
        """The wheel of a series, if it is there; under other tags only where no second one could be meant."""
        exact = next((wheel for wheel in self.wheels if wheel.series == series), None)
        near = [wheel for wheel in self.wheels if wheel.series.untagged == series.untagged]
        return exact or (near[0] if len(near) == 1 else None)


def labels(wheels: Iterable[SizedWheel]) -> dict[Series, str]:
    """A short name for each series: the cell's id, else the parts of its name; longer where two would be equal."""
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
    """Whether a file is a wheel with a name that installers read."""
    if not name.endswith(".whl"):
        return False
    try:
        WheelName.parse(name)
    except UsageError:
        return False
    return True
