"""Arrange a report as tables of text, for any output format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from fatwheel.formatting import count_of, join_names, percent, size_range
from fatwheel.records.report import DispatchedModule, Report, SizeEstimate, TargetSize, UnusedCode, WheelBudget
from fatwheel.report.values import format_estimate, format_growth, format_rate, format_rate_range, format_time_left
from fatwheel.sizes import size
from fatwheel.targets import dotted

MAX_ROWS = 12
_MAX_PARTS = 5
NO_CODE, OVER, TOO_LARGE, GREW, NEAR = "NO CODE", "OVER", "too large", "GREW", "near"
"""Values that displays highlight."""
_STATES = {"ok": "ok", "warn": NEAR, "grown": GREW, "over": OVER}


@dataclass(frozen=True)
class Table:
    """A table of text. ``right``: right-aligned columns, from 0. ``below``: a line to print under the table."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    below: str = ""


def tables(report: Report) -> list[Table]:
    """All tables of a report that have rows."""
    found = [_budget_table(report)]
    for row in report.wheels:
        if row.level in ("over", "grown"):
            found += _wheel_tables(row)
    found += [
        _target_table(report.target_sizes),
        _trend_table(report),
        _unused_table(report.unused_code),
        _dispatch_table(report.dispatch),
    ]
    return [table for table in found if table.rows]


def _budget_table(report: Report) -> Table:
    since = f"since {report.before}" if report.before else "growth"
    rows = tuple(
        (
            row.label, size(row.bytes), percent(row.bytes, row.limit), format_growth(row),
            _STATES[row.level],
        )
        for row in report.wheels
    )  # fmt: skip
    return Table(
        f"{report.now}: {count_of(len(rows), 'wheel')}, limit {size(report.limit)}",
        ("wheel", "size", "of limit", since, ""), rows, (1, 2, 3),
    )  # fmt: skip


def _wheel_tables(row: WheelBudget) -> list[Table]:
    """The largest parts of a wheel, and ways to make it smaller."""
    found = []
    if row.by_module:
        blank = ("", "")
        modules = [(part.name, size(part.bytes)) for part in row.by_module[:_MAX_PARTS]]
        targets = [(part.name, size(part.bytes)) for part in row.by_target[:_MAX_PARTS]]
        rows = tuple(
            (*(modules[at] if at < len(modules) else blank), *(targets[at] if at < len(targets) else blank))
            for at in range(max(len(modules), len(targets)))
        )
        found.append(Table(f"{row.label}: largest parts", ("module", "size", "target", "size"), rows, (1, 3)))
    suggestions = tuple(
        (one.what, _predicted(one.predicted, row.label), dotted(one.loses) or "-", "" if one.enough else TOO_LARGE)
        for one in row.suggestions
    )
    headings = ("change", "predicted size", "no longer covers", "")
    found.append(Table(f"{row.label}: ways to get under the limit", headings, suggestions))
    return found


def _predicted(sizes: dict[str, int], label: str) -> str:
    return ", ".join(f"{name.removeprefix(label).strip()} {size(count)}".strip() for name, count in sizes.items())


def _target_table(target_sizes: Sequence[TargetSize]) -> Table:
    """The newest value of each: one row per target if read from device code, one row per wheel otherwise."""
    groups: dict[tuple[str, str], list[TargetSize]] = {}
    seen: set[tuple[str, str, str]] = set()
    for one in target_sizes:
        key = (dotted(one.targets), one.label, one.method)
        if key not in seen:
            seen.add(key)
            groups.setdefault((key[0], one.label if one.method == "sizes" else ""), []).append(one)
    rows = []
    for (target, _), found in groups.items():
        middle = size(median(one.bytes for one in found))
        reach = size_range(min(one.low for one in found), max(one.high for one in found))
        where = found[0].label if len(found) == 1 else f"{len(found)} wheels"
        rows.append((target, middle, reach if reach != middle else "", where, found[0].basis))
    return Table("size per target", ("target", "size", "range", "wheel", "source"), tuple(rows), (1,))


def _trend_table(report: Report) -> Table:
    rows = tuple(
        (
            trend.label, size(report.limit - trend.points[-1].bytes), format_rate(trend),
            format_rate_range(trend), format_time_left(trend), str(len(trend.points)),
        )
        for trend in report.trends
        if trend.rate is not None
    )  # fmt: skip
    return Table(
        "growth and time to the limit", ("wheel", "room", "per day", "95% interval", "time left", "releases"),
        rows[:MAX_ROWS], (1, 2, 5), _more(rows),
    )  # fmt: skip


def _unused_table(unused: Sequence[UnusedCode]) -> Table:
    """One row for all modules of a wheel with the same unused target for the same reason."""
    groups: dict[tuple[str, str, str], list[UnusedCode]] = {}
    for one in unused:
        groups.setdefault((one.label, str(one.target), one.why), []).append(one)
    found = sorted(groups.items(), key=lambda item: -sum(one.bytes for one in item[1]))
    rows = tuple(
        (
            label, target, join_names([one.module for one in group], 1),
            size(sum(one.bytes for one in group)), size(sum(one.installed for one in group)), why,
        )
        for (label, target, why), group in found
    )  # fmt: skip
    total = f"total: {size(sum(one.bytes for one in unused))} in wheels, "
    total += f"{size(sum(one.installed for one in unused))} installed"
    return Table(
        "unused device code", ("wheel", "target", "modules", "in wheel", "installed", "why"), rows[:MAX_ROWS],
        (3, 4), "; ".join(filter(None, [_more(rows), total])),
    )  # fmt: skip


def _dispatch_table(dispatch: Sequence[DispatchedModule]) -> Table:
    """For each feature of a wheel, the devices that load the same module."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for one in dispatch:
        if one.target is not None:
            key = (one.label, one.feature, f"{one.module} ({one.target})")
        elif one.covered:
            key = (one.label, one.feature, NO_CODE)
        else:
            continue
        groups.setdefault(key, []).append(str(one.capability))
    rows = tuple((label, feature, " ".join(group), module) for (label, feature, module), group in groups.items())
    return Table(
        "module loaded per device", ("wheel", "feature", "capabilities", "module"), rows[: 2 * MAX_ROWS],
        (), _more(rows, 2 * MAX_ROWS),
    )  # fmt: skip


def estimates_table(estimates: Sequence[SizeEstimate]) -> Table:
    """The effect of a change of matrix.yaml on sizes."""
    rows = tuple(
        (
            one.id,
            size(one.before) if one.before is not None else "-",
            format_estimate(one),
            percent(one.after, one.limit) if one.after is not None else "-",
            OVER if one.over else "",
            one.basis,
        )
        for one in estimates
    )
    return Table("estimated sizes", ("wheel", "now", "estimate", "of limit", "", "basis"), rows, (1, 3))


def _more(rows: Sequence[object], most: int = MAX_ROWS) -> str:
    return f"{len(rows) - most} more" if len(rows) > most else ""
