"""Make a report from the releases of a store and a folder of new wheels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from fatwheel.errors import UsageError
from fatwheel.records.report import Part, Point, Report, TargetSize, Trend
from fatwheel.report import trend
from fatwheel.report.budget import Allowance, check_budget
from fatwheel.report.dispatch import Rule, find_missing_code, find_unused_code, simulate_dispatch
from fatwheel.report.folder import add_inventories, read_folder
from fatwheel.report.history import MAX_RELEASES, read_history
from fatwheel.report.snapshots import Series, Snapshot, choose_labels
from fatwheel.report.target_sizes import list_target_sizes
from fatwheel.stores.remote import ReadableStore


@dataclass(frozen=True)
class ReportOptions:
    """Options of a report. ``tags`` selects releases by tag; ``rules``: the package's dispatch.

    Long waits are reported to ``notify``.
    """

    allowance: Allowance
    records: Path | None = None
    tags: re.Pattern[str] | None = None
    max_releases: int = MAX_RELEASES
    rules: tuple[Rule, ...] = ()
    notify: Callable[[str], None] | None = None


@dataclass(frozen=True)
class Snapshots:
    """All releases, the oldest first; the last one is reported, and its device code was read."""

    snapshots: tuple[Snapshot, ...]
    notes: tuple[str, ...] = ()
    names: dict[Series, str] = field(default_factory=dict)

    @property
    def now(self) -> Snapshot | None:
        """The reported wheels."""
        return self.snapshots[-1] if self.snapshots else None

    @property
    def before(self) -> Snapshot | None:
        """The release they are compared with."""
        return self.snapshots[-2] if len(self.snapshots) > 1 else None

    def target_sizes(self) -> list[TargetSize]:
        """Determine the size per target, the most reliable values first."""
        return list_target_sizes(self.snapshots, self.names)


def read_snapshots(store: ReadableStore | None, options: ReportOptions) -> Snapshots:
    """Read all releases and new wheels. Raises `StoreFailure` if the store cannot be read."""
    snapshots: list[Snapshot] = []
    notes: list[str] = []
    if store is not None:
        history = read_history(store, tags=options.tags, most=options.max_releases, notify=options.notify)
        snapshots += history.snapshots
        notes += history.notes
    if options.records:
        new, folder_notes = read_folder(options.records)
        snapshots = [one for one in snapshots if not _is_part_of(one, new)] + [new]
        notes += folder_notes
    if not snapshots:
        return Snapshots((), tuple(notes))
    snapshots[-1], inventory_notes = add_inventories(snapshots[-1])
    names = choose_labels(wheel for snapshot in snapshots for wheel in snapshot.wheels)
    names |= choose_labels(snapshots[-1].wheels)
    return Snapshots(tuple(snapshots), (*notes, *inventory_notes), names)


def _is_part_of(old: Snapshot, new: Snapshot) -> bool:
    """Whether all wheels of a release are also in the folder, by name."""
    return {wheel.file for wheel in old.wheels} <= {wheel.file for wheel in new.wheels}


def make_report(store: ReadableStore | None, options: ReportOptions) -> Report:
    """Make the whole report. Raises `UsageError` without any wheels, and the errors of `read_snapshots`."""
    found = read_snapshots(store, options)
    now = found.now
    if now is None:
        raise UsageError(
            "no published release with wheels in the store", where=store.spec if store else None,
            help="add --records DIR with built wheels, or choose another --store",
        )  # fmt: skip
    target_sizes = found.target_sizes()
    unused = [one for w in now.wheels for one in find_unused_code(w, found.names[w.series], options.rules)]
    dispatch = [one for w in now.wheels for one in simulate_dispatch(w, found.names[w.series], options.rules)]
    unused_bytes: dict[str, int] = {}
    for one in unused:
        unused_bytes[one.label] = unused_bytes.get(one.label, 0) + one.bytes
    rows = check_budget(
        now, found.before, options.allowance, found.names, target_sizes=target_sizes, unused=unused_bytes
    )
    errors = [f"{row.label}: {row.why}" for row in rows if row.level in ("over", "grown")]
    for wheel in now.wheels:
        errors += find_missing_code(wheel, found.names[wheel.series], dispatch)
    return Report(
        store=store.spec if store else "",
        now=now.tag,
        before=found.before.tag if found.before else None,
        limit=options.allowance.limit,
        warn=options.allowance.warn,
        allowed_growth=options.allowance.growth,
        wheels=rows,
        target_sizes=target_sizes,
        trends=fit_trends(found.snapshots, found.names, options.allowance.limit),
        unused_code=unused,
        dispatch=dispatch,
        errors=errors,
        notes=list(found.notes),
    )


def fit_trends(snapshots: Sequence[Snapshot], names: dict[Series, str], limit: int) -> list[Trend]:
    """Fit the growth of each wheel in the newest release, the closest to the limit first."""
    if not snapshots:
        return []
    found = [_fit_trend(snapshots, wheel.series, names[wheel.series], limit) for wheel in snapshots[-1].wheels]
    return sorted(found, key=lambda one: (one.days is None, one.days or 0.0, one.label))


def _fit_trend(snapshots: Sequence[Snapshot], series: Series, label: str, limit: int) -> Trend:
    found = [(snapshot, wheel) for snapshot in snapshots if (wheel := snapshot.find(series)) and not wheel.partial]
    fitted = Trend(
        label=label,
        points=[Point(tag=snapshot.tag, day=snapshot.day, bytes=wheel.bytes) for snapshot, wheel in found],
    )
    timed = [(snapshot, wheel) for snapshot, wheel in found if snapshot.day is not None]
    sizes = [wheel.bytes for _, wheel in timed]
    changed = {
        place + 1
        for place, ((_, old), (_, new)) in enumerate(pairwise(timed))
        if old.targets is not None and new.targets is not None and old.targets != new.targets
    }
    breaks = frozenset(changed) | trend.find_steps(sizes)
    growth = trend.fit_slope([(s.day or 0.0, w.bytes) for s, w in timed], breaks)
    fitted = fitted.model_copy(
        update={"steps": [Part(name=timed[at][0].tag, bytes=sizes[at] - sizes[at - 1]) for at in sorted(breaks)]}
    )
    if growth is None:
        return fitted.model_copy(update={"note": "too few releases"})
    left = trend.time_left(limit - sizes[-1], growth)
    return fitted.model_copy(
        update={
            "rate": growth.rate, "low": growth.low, "high": growth.high,
            "days": left.days, "soonest": left.soonest, "latest": left.latest,
            "note": _certainty(growth, len(timed)),
        }
    )  # fmt: skip


def _certainty(growth: trend.Slope, count: int) -> str:
    if growth.low is None:
        return f"from {count} releases, too few for a confidence interval"
    if growth.low <= 0 < (growth.high or 0.0):
        return f"from {count} releases, the growth is not significant"
    return f"from {count} releases"
