"""What a report says: sizes against the limit, prices of targets, growth, and machine code that nothing loads."""

from __future__ import annotations

from typing import Literal

from fatwheel.records.base import Record

Level = Literal["ok", "warn", "grown", "over"]


class Part(Record):
    """A part of a wheel (a module, a target) and the bytes that it takes there."""

    name: str
    bytes: int


class Suggestion(Record):
    """What would make a wheel smaller. ``predicted``: the sizes that would come of it, by name.

    ``loses``: capabilities that nothing would cover any more. ``enough``: whether all would be under the limit.
    """

    what: str
    predicted: dict[str, int]
    loses: list[str] = []
    enough: bool


Kind = Literal["whole", "slice", "placeholder"]
"""A wheel with all its modules, with some of them, or without code in the place of one."""


class WheelBudget(Record):
    """One wheel against the limit and against the last release. ``why`` says what raised the level."""

    wheel: str
    kind: Kind = "whole"
    label: str  # the cell's id where it is known, else what its name tells
    bytes: int
    limit: int
    before: int | None = None  # bytes in the release before; null: it was not there
    growth: int | None = None  # bytes
    level: Level = "ok"
    why: str = ""
    targets: list[str] | None = None
    by_target: list[Part] = []  # the largest first; bytes in the wheel
    by_module: list[Part] = []  # likewise
    remedies: list[Suggestion] = []


class TargetPrice(Record):
    """What targets add to a wheel, in bytes of the wheel; ``low`` and ``high`` say how far it is sure.

    ``method``: ``inventory`` is read from the wheel's machine code, ``sizes`` is by difference in differences.
    """

    targets: list[str]
    label: str
    cuda: str | None
    arch: str | None
    bytes: int
    low: int
    high: int
    method: Literal["inventory", "sizes"]
    basis: str


class Point(Record):
    """A wheel's size in one release. ``day`` counts from 1970; null: the store tells no time."""

    tag: str
    day: float | None
    bytes: int


class Trend(Record):
    """How a wheel grows beside its steps, and when it meets the limit. Rates in bytes a day.

    ``low`` and ``high`` bound the rate with 95 % confidence; null where there are too few releases to tell. ``days`` is
    null where it does not grow. ``steps``: releases in which targets changed, or which grew far more than the others.
    """

    label: str
    points: list[Point]
    rate: float | None = None
    low: float | None = None
    high: float | None = None
    days: float | None = None
    soonest: float | None = None
    latest: float | None = None  # null with a ``soonest``: it may as well never be
    steps: list[Part] = []
    note: str = ""


class DeadCode(Record):
    """Code that no device loads. ``installed`` is what it takes on disk, ``bytes`` in the wheel (an estimate)."""

    label: str
    module: str
    target: str
    installed: int
    bytes: int
    why: str


class DispatchedModule(Record):
    """What a device loads for a feature: a module and the target whose code it takes; null where there is none."""

    label: str
    feature: str
    capability: str
    module: str | None
    target: str | None
    promised: bool


class CellPrice(Record):
    """What a change of matrix.yaml does to one wheel. Null where nothing measured tells it."""

    id: str
    before: int | None
    after: int | None
    low: int | None = None
    high: int | None = None
    limit: int
    basis: str

    @property
    def over(self) -> bool:
        """Whether it would reach the limit."""
        return self.after is not None and self.after >= self.limit


class Report(Record):
    """All of it. ``problems`` are what the command fails for; ``notes`` are not."""

    store: str
    now: str | None  # the tag or folder of the wheels that are judged; null: there are none
    before: str | None  # the tag that they are compared with
    limit: int
    warn: float  # share of the limit
    allowed_growth: float  # share of the size before
    wheels: list[WheelBudget]
    prices: list[TargetPrice] = []
    trends: list[Trend] = []
    dead: list[DeadCode] = []
    serving: list[DispatchedModule] = []
    problems: list[str] = []
    notes: list[str] = []
