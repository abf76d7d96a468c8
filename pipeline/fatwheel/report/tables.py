"""A report as tables of text, whoever shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from fatwheel.records.report import CellPrice, DeadCode, DispatchedModule, Report, TargetPrice, WheelBudget
from fatwheel.report import formatting
from fatwheel.sizes import size

MOST_ROWS = 12
_STATES = {"ok": "ok", "warn": "near", "grown": "GREW", "over": "OVER"}


@dataclass(frozen=True)
class Table:
    """``right``: columns, from 0, that are set to the right. ``below``: a line under it."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    below: str = ""


def tables(report: Report) -> list[Table]:
    """Those that have something to say."""
    found = [_budget(report)]
    for row in report.wheels:
        if row.level in ("over", "grown"):
            found += _parts(row)
    found += [_prices(report.prices), _trends(report), _dead(report.dead), _serving(report.serving)]
    return [table for table in found if table.rows]


def _budget(report: Report) -> Table:
    since = f"since {report.before}" if report.before else "since"
    rows = tuple(
        (row.label, size(row.bytes), formatting.share(row), formatting.growth(row), _STATES[row.level])
        for row in report.wheels
    )
    return Table(
        f"{report.now}: {len(rows)} wheel{'s' if len(rows) != 1 else ''}, limit {size(report.limit)}",
        ("wheel", "size", "of limit", since, ""), rows, (1, 2, 3),
    )  # fmt: skip


def _parts(row: WheelBudget) -> list[Table]:
    found = []
    if row.by_module:
        count = max(len(row.by_module[:5]), len(row.by_target[:5]))
        blank = ("", "")
        modules = [(part.name, size(part.bytes)) for part in row.by_module[:5]]
        targets = [(part.name, size(part.bytes)) for part in row.by_target[:5]]
        rows = tuple(
            (*(modules[at] if at < len(modules) else blank), *(targets[at] if at < len(targets) else blank))
            for at in range(count)
        )
        found.append(Table(f"{row.label}: its largest parts", ("module", "size", "target", "size"), rows, (1, 3)))
    helping = tuple(
        (
            help.what,
            _predicted(help.predicted, row.label),
            _losing(help.loses),
            "" if help.enough else "too large",
        )
        for help in row.remedies
    )
    found.append(Table(f"{row.label}: what would bring it under", ("change", "then", "loses", ""), helping))
    return found


def _predicted(sizes: dict[str, int], label: str) -> str:
    return ", ".join(f"{name.removeprefix(label).strip()} {size(count)}".strip() for name, count in sizes.items())


def _losing(capabilities: Sequence[str]) -> str:
    return f"devices {' '.join(capabilities)}" if capabilities else "no device"


def _prices(prices: Sequence[TargetPrice]) -> Table:
    """The newest of each: by machine code one row a target, over all wheels; by sizes one row a wheel."""
    groups: dict[tuple[str, str], list[TargetPrice]] = {}
    seen: set[tuple[str, str, str]] = set()
    for price in prices:
        key = (" ".join(price.targets), price.label, price.method)
        if key not in seen:
            seen.add(key)
            groups.setdefault((key[0], price.label if price.method == "sizes" else ""), []).append(price)
    rows = []
    for (target, _), found in groups.items():
        middle = size(median(price.bytes for price in found))
        reach = formatting.span(min(price.low for price in found), max(price.high for price in found))
        where = found[0].label if len(found) == 1 else f"{len(found)} wheels"
        how = "its machine code" if found[0].method == "inventory" else "sizes: " + found[0].basis.partition(": ")[2]
        rows.append((target, middle, reach if reach != middle else "", where, how))
    return Table("the price of a target", ("target", "adds", "between", "in", "from"), tuple(rows), (1,))


def _trends(report: Report) -> Table:
    rows = tuple(
        (
            trend.label, size(report.limit - trend.points[-1].bytes), formatting.rate(trend), formatting.sure(trend),
            formatting.days(trend), str(len(trend.points)),
        )
        for trend in report.trends
        if trend.rate is not None
    )  # fmt: skip
    return Table(
        "until the limit", ("wheel", "room", "grows a day", "95 %", "lasts", "releases"), rows[:MOST_ROWS], (1, 2, 5),
        _more(rows).removesuffix("; "),
    )  # fmt: skip


def _dead(dead: Sequence[DeadCode]) -> Table:
    """One row for the modules of a wheel that hold the same dead target for the same reason."""
    groups: dict[tuple[str, str, str], list[DeadCode]] = {}
    for one in dead:
        groups.setdefault((one.label, one.target, one.why), []).append(one)
    found = sorted(groups.items(), key=lambda item: -sum(one.bytes for one in item[1]))
    rows = tuple(
        (
            label, target, formatting.listed([one.module for one in held], 1), size(sum(one.bytes for one in held)),
            size(sum(one.installed for one in held)), why,
        )
        for (label, target, why), held in found
    )  # fmt: skip
    total = f"in all {size(sum(one.bytes for one in dead))} of the wheels, "
    total += f"{size(sum(one.installed for one in dead))} installed"
    return Table(
        "code that no device loads", ("wheel", "target", "modules", "in wheel", "installed", "why"), rows[:MOST_ROWS],
        (3, 4), f"{_more(rows)}{total}",
    )  # fmt: skip


def _serving(serving: Sequence[DispatchedModule]) -> Table:
    """For each feature of a wheel, the devices that a module serves."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for one in serving:
        if one.target is not None:
            key = (one.label, one.feature, f"{one.module} ({one.target})")
        elif one.promised:
            key = (one.label, one.feature, "NOTHING")
        else:
            continue
        groups.setdefault(key, []).append(one.capability)
    rows = tuple((label, feature, " ".join(held), by) for (label, feature, by), held in groups.items())
    return Table(
        "who serves whom", ("wheel", "feature", "devices", "served by"), rows[: 2 * MOST_ROWS],
        (), _more(rows, 2 * MOST_ROWS),
    )  # fmt: skip


def price_table(prices: Sequence[CellPrice]) -> Table:
    """What a change of matrix.yaml does to sizes."""
    rows = tuple(
        (
            price.id,
            size(price.before) if price.before is not None else "-",
            formatting.after(price),
            f"{100 * price.after / price.limit:.1f} %" if price.after is not None else "-",
            "OVER" if price.over else "",
            price.basis,
        )
        for price in prices
    )
    return Table("what it costs", ("wheel", "now", "then", "of limit", "", "from"), rows, (1, 3))


def _more(rows: Sequence[object], most: int = MOST_ROWS) -> str:
    return f"and {len(rows) - most} more; " if len(rows) > most else ""
