"""From a store, and a folder of new wheels, to a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from fatwheel.errors import UsageError
from fatwheel.records.report import Part, Point, Report, TargetPrice, Trend
from fatwheel.report import trend
from fatwheel.report.budget import Allowance, budget
from fatwheel.report.dispatch import Rule, find_unused_code, lacking, simulate
from fatwheel.report.folder import read_folder, with_inventories
from fatwheel.report.history import MOST_RELEASES, read_history
from fatwheel.report.prices import price_list
from fatwheel.report.sizes import Series, Snapshot, labels
from fatwheel.stores.remote import ReadableStore


@dataclass(frozen=True)
class Question:
    """What a report is asked for. ``tags``: the releases that count; ``rules``: the package's dispatch.

    ``say`` hears of long waits.
    """

    allowance: Allowance
    records: Path | None = None
    tags: re.Pattern[str] | None = None
    most: int = MOST_RELEASES
    rules: tuple[Rule, ...] = ()
    say: Callable[[str], None] | None = None


@dataclass(frozen=True)
class Gathered:
    """All releases, the oldest first, with the newest wheels' machine code; the last is what is judged."""

    snapshots: tuple[Snapshot, ...]
    notes: tuple[str, ...] = ()
    names: dict[Series, str] = field(default_factory=dict)

    @property
    def now(self) -> Snapshot | None:
        """What is judged."""
        return self.snapshots[-1] if self.snapshots else None

    @property
    def before(self) -> Snapshot | None:
        """What it is compared with."""
        return self.snapshots[-2] if len(self.snapshots) > 1 else None

    def prices(self) -> list[TargetPrice]:
        """What targets cost, the surest first."""
        return price_list(self.snapshots, self.names)


def gather(store: ReadableStore | None, question: Question) -> Gathered:
    """Read what there is. Raises `StoreFailure` for a store that cannot be read."""
    snapshots: list[Snapshot] = []
    notes: list[str] = []
    if store is not None:
        history = read_history(store, tags=question.tags, most=question.most, say=question.say)
        snapshots += history.snapshots
        notes += history.notes
    if question.records:
        new, said = read_folder(question.records)
        snapshots = [one for one in snapshots if not _same(one, new)] + [new]
        notes += said
    if not snapshots:
        return Gathered((), tuple(notes))
    snapshots[-1], said = with_inventories(snapshots[-1])
    names = labels(wheel for snapshot in snapshots for wheel in snapshot.wheels) | labels(snapshots[-1].wheels)
    return Gathered(tuple(snapshots), (*notes, *said), names)


def _same(old: Snapshot, new: Snapshot) -> bool:
    """Whether a release is what lies in the folder: all of its wheels are there by name."""
    return {wheel.file for wheel in old.wheels} <= {wheel.file for wheel in new.wheels}


def make_report(store: ReadableStore | None, question: Question) -> Report:
    """The whole report. Raises `UsageError` where there is nothing to report on, and what `gather` raises."""
    found = gather(store, question)
    now = found.now
    if now is None:
        raise UsageError(
            "the store holds no published release with wheels", where=store.spec if store else None,
            help="give --records DIR with wheels that were built, or another --store",
        )  # fmt: skip
    prices = found.prices()
    dead = [one for w in now.wheels for one in find_unused_code(w, found.names[w.series], question.rules)]
    serving = [one for w in now.wheels for one in simulate(w, found.names[w.series], question.rules)]
    weight: dict[str, int] = {}
    for one in dead:
        weight[one.label] = weight.get(one.label, 0) + one.bytes
    rows = budget(now, found.before, question.allowance, found.names, prices=prices, dead=weight)
    problems = [f"{row.label}: {row.why}" for row in rows if row.level in ("over", "grown")]
    for wheel in now.wheels:
        problems += lacking(wheel, found.names[wheel.series], serving)
    return Report(
        store=store.spec if store else "",
        now=now.tag,
        before=found.before.tag if found.before else None,
        limit=question.allowance.limit,
        warn=question.allowance.warn,
        allowed_growth=question.allowance.growth,
        wheels=rows,
        prices=prices,
        trends=trends(found.snapshots, found.names, question.allowance.limit),
        dead=dead,
        serving=serving,
        problems=problems,
        notes=list(found.notes),
    )


def trends(snapshots: Sequence[Snapshot], names: dict[Series, str], limit: int) -> list[Trend]:
    """How each wheel of the newest release grew, and how long its room lasts; the most urgent first."""
    if not snapshots:
        return []
    found = [_trend(snapshots, wheel.series, names[wheel.series], limit) for wheel in snapshots[-1].wheels]
    return sorted(found, key=lambda one: (one.days is None, one.days or 0.0, one.label))


def _trend(snapshots: Sequence[Snapshot], series: Series, label: str, limit: int) -> Trend:
    held = [(snapshot, wheel) for snapshot in snapshots if (wheel := snapshot.find(series)) and not wheel.partial]
    shown = Trend(
        label=label,
        points=[Point(tag=snapshot.tag, day=snapshot.day, bytes=wheel.bytes) for snapshot, wheel in held],
    )
    timed = [(snapshot, wheel) for snapshot, wheel in held if snapshot.day is not None]
    sizes = [wheel.bytes for _, wheel in timed]
    changed = {
        place + 1
        for place, ((_, old), (_, new)) in enumerate(pairwise(timed))
        if old.targets is not None and new.targets is not None and old.targets != new.targets
    }
    breaks = frozenset(changed) | trend.steps(sizes)
    growth = trend.slope([(s.day or 0.0, w.bytes) for s, w in timed], breaks)
    shown = shown.model_copy(
        update={"steps": [Part(name=timed[at][0].tag, bytes=sizes[at] - sizes[at - 1]) for at in sorted(breaks)]}
    )
    if growth is None:
        return shown.model_copy(update={"note": "too few releases to tell"})
    ahead = trend.left(limit - sizes[-1], growth)
    return shown.model_copy(
        update={
            "rate": growth.rate, "low": growth.low, "high": growth.high,
            "days": ahead.days, "soonest": ahead.soonest, "latest": ahead.latest,
            "note": _certainty(growth, len(timed)),
        }
    )  # fmt: skip


def _certainty(growth: trend.Slope, count: int) -> str:
    if growth.low is None:
        return f"from {count} releases: too few to say how sure"
    if growth.low <= 0 < (growth.high or 0.0):
        return f"from {count} releases: it may as well not grow"
    return f"from {count} releases"
