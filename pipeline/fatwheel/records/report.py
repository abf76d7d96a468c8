"""The report on wheel sizes: budgets, size per target, growth, dispatch and unused device code."""

from __future__ import annotations

from typing import Literal

from fatwheel.records.base import Record
from fatwheel.targets import Capability, Target

Level = Literal["ok", "warn", "grown", "over"]


class Part(Record):
    """A part of a wheel (a module or a target), or a release, with its bytes."""

    name: str
    bytes: int


class Suggestion(Record):
    """A way to make a wheel smaller. ``predicted``: the resulting sizes, by name.

    ``loses``: capabilities that would no longer be covered. ``enough``: whether every result is under the limit.
    """

    what: str
    predicted: dict[str, int]
    loses: list[Capability] = []
    enough: bool


Kind = Literal["whole", "slice", "placeholder"]
"""A wheel with all its modules, a partial wheel, or a placeholder wheel without code."""


class WheelBudget(Record):
    """A wheel compared with the limit and with the previous release. ``why`` explains the level."""

    wheel: str
    kind: Kind = "whole"
    label: str  # the cell's ID if known, else derived from the file name
    bytes: int
    limit: int
    before: int | None = None  # bytes in the previous release; null: not in it
    growth: int | None = None  # bytes
    level: Level = "ok"
    why: str = ""
    targets: list[Target] | None = None
    by_target: list[Part] = []  # compressed bytes, the largest first
    by_module: list[Part] = []  # likewise
    suggestions: list[Suggestion] = []


class TargetSize(Record):
    """The compressed bytes that targets add to a wheel; ``low`` and ``high`` bound the value.

    ``method``: ``inventory`` is read from the wheel's device code, ``sizes`` is computed by difference in differences.
    ``basis`` describes the source.
    """

    targets: list[Target]
    label: str
    cuda: str | None
    arch: str | None
    bytes: int
    low: int
    high: int
    method: Literal["inventory", "sizes"]
    basis: str


class Point(Record):
    """The size of a wheel in one release. ``day``: days since 1970; null: the store has no time."""

    tag: str
    day: float | None
    bytes: int


class Trend(Record):
    """How a wheel grows between its steps, and when it reaches the limit. Rates are in bytes per day.

    ``low`` and ``high`` bound the rate with 95% confidence; null with too few releases. ``days`` until the limit is
    null if the wheel does not grow. ``steps``: releases in which targets changed, or whose growth is an outlier.
    """

    label: str
    points: list[Point]
    rate: float | None = None
    low: float | None = None
    high: float | None = None
    days: float | None = None
    soonest: float | None = None
    latest: float | None = None  # null with a ``soonest``: possibly never
    steps: list[Part] = []
    note: str = ""


class UnusedCode(Record):
    """Unused device code. ``installed``: bytes on disk; ``bytes``: compressed bytes, an estimate."""

    label: str
    module: str
    target: Target
    installed: int
    bytes: int
    why: str


class DispatchedModule(Record):
    """The module and target that a device loads for a feature; null if there is none.

    ``covered``: whether the wheel's cell covers this capability.
    """

    label: str
    feature: str
    capability: Capability
    module: str | None
    target: Target | None
    covered: bool


class SizeEstimate(Record):
    """The estimated effect of a change of matrix.yaml on the size of one wheel. Sizes are null if unknown.

    ``change``: what happens to the wheel's cell.
    """

    id: str
    change: Literal["changed", "added", "removed"]
    before: int | None
    after: int | None
    low: int | None = None
    high: int | None = None
    limit: int
    basis: str

    @property
    def over(self) -> bool:
        """Whether the wheel would reach the limit."""
        return self.after is not None and self.after >= self.limit


class Report(Record):
    """The whole report. ``errors`` make the command fail, ``notes`` do not."""

    store: str
    now: str | None  # tag or folder of the reported wheels; null: none
    before: str | None  # tag of the release they are compared with
    limit: int
    warn: float  # share of the limit
    allowed_growth: float  # share of the previous size
    wheels: list[WheelBudget]
    target_sizes: list[TargetSize] = []
    trends: list[Trend] = []
    unused_code: list[UnusedCode] = []
    dispatch: list[DispatchedModule] = []
    errors: list[str] = []
    notes: list[str] = []
