"""Draw a report's plots as inline SVG, with colors that the page's style sheet defines for light and dark mode."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fatwheel.errors import UsageError
from fatwheel.formatting import percent
from fatwheel.records.report import Report, Trend, WheelBudget
from fatwheel.sizes import size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GIB = 1 << 30
MIB = 1 << 20
_LOOK_AHEAD = 45.0  # days; an extrapolation beyond that is not reliable
_MAX_WHEELS = 24
_MAX_MODULES = 15
_LEGEND_COLUMNS = 10  # of a wide page

# Placeholders: matplotlib draws with these colors, and the SVG gets the style sheet's variables instead.
_INK = {
    "ink": "#010101", "soft": "#010102", "line": "#010103", "paper": "#010104", "limit": "#010105", "warn": "#010106",
    "bar": "#010107", "ghost": "#010108",
}  # fmt: skip
_SERIES = [f"#0102{place:02x}" for place in range(8)]
_LINES = (2, 5, 3, 6, 4, 0, 1, 7)  # an order in which neighbors differ clearly
_MAJOR_COLORS = {"7": 0, "8": 1, "9": 2, "10": 3, "11": 4, "12": 5}


def require_matplotlib() -> None:
    """Raise `UsageError` if the extra for plots is not installed."""
    if find_spec("matplotlib") is None:
        raise UsageError("the HTML report requires matplotlib", where="--output", help="pip install matplotlib")


@dataclass(frozen=True)
class Plot:
    """One plot, for a wide page and for a phone. ``about``: a description for screen readers."""

    wide: str
    narrow: str
    about: str


def draw_plots(report: Report) -> dict[str, Plot]:
    """Draw the plots that the report has data for, by name: room, history, targets, modules."""
    found = {
        "room": _draw_room(report),
        "history": _draw_history(report),
        "targets": _draw_targets(report),
        "modules": _draw_modules(report),
    }
    return {name: plot for name, plot in found.items() if plot}


Draw = Callable[[bool], "Figure"]


def _plot(name: str, about: str, draw: Draw) -> Plot:
    return Plot(_svg(draw(False), f"{name}-wide"), _svg(draw(True), f"{name}-narrow"), about)


def _figure(narrow: bool, height: float, rows: int = 1, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure as wide as the page or a phone. ``height`` is in inches of 72 SVG units."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.3 if narrow else 10.4, height), layout="constrained")
    figure.patch.set_alpha(0.0)
    axes = figure.subplots(rows, columns, squeeze=False)
    found = [ax for row in axes for ax in row]
    for ax in found:
        ax.patch.set_alpha(0.0)
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)
        ax.spines["bottom"].set_color(_INK["line"])
        ax.tick_params(colors=_INK["soft"], labelcolor=_INK["soft"], length=0, labelsize=10)
    return figure, found


def _svg(figure: Figure, name: str) -> str:
    import matplotlib as mpl

    file = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true">', text, count=1)
    used = set(re.findall(r'[("]#([^")]+)', text))  # other ids would clash with those of the next plot
    text = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", text)
    for variable, color in [*_INK.items(), *((f"s{place}", color) for place, color in enumerate(_SERIES))]:
        text = text.replace(color, f"var(--{variable})")
    text = text.replace("'DejaVu Sans', 'Bitstream Vera Sans'", "system-ui")
    return re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 system-ui, sans-serif", text)


def _draw_room(report: Report) -> Plot | None:
    rows = list(reversed(report.wheels[:_MAX_WHEELS]))
    if not rows:
        return None

    def draw(narrow: bool) -> Figure:
        figure, (ax,) = _figure(narrow, 0.7 + 0.33 * len(rows))
        places = range(len(rows))
        ax.barh(
            places, [row.bytes / row.limit * 100 for row in rows], height=0.6, color=[_level_color(row) for row in rows]
        )
        for place, row in enumerate(rows):
            if row.before:
                share = row.before / row.limit * 100
                ax.plot([share, share], [place - 0.3, place + 0.3], color=_INK["ink"], linewidth=1.6)
            ax.annotate(
                size(row.bytes), (1.0, place), xycoords=("axes fraction", "data"), ha="right", va="center",
                color=_INK["ink"], fontsize=10,
            )  # fmt: skip
        most = max([100.0, *(row.bytes / row.limit * 100 for row in rows)])
        ax.axvline(100, color=_INK["limit"], linewidth=1.6)
        ax.axvline(report.warn * 100, color=_INK["warn"], linewidth=1.2, linestyle=(0, (4, 3)))
        ax.set_xlim(0, most * (1.45 if narrow else 1.1))
        ax.set_ylim(-0.6, len(rows) - 0.4)
        ax.set_yticks(list(places), [row.label for row in rows])
        ax.tick_params(axis="y", labelcolor=_INK["ink"])
        ax.set_xticks([0, 25, 50, 75, 100], ["0", "25", "50", "75", "100%"])
        return figure

    worst = rows[-1]
    largest = percent(worst.bytes, worst.limit)
    about = f"Wheel sizes in percent of {size(report.limit)}. The largest is {worst.label} with {largest}."
    return _plot("room", about, draw)


def _level_color(row: WheelBudget) -> str:
    return {"over": _INK["limit"], "grown": _INK["warn"], "warn": _INK["warn"]}.get(row.level, _INK["bar"])


def _draw_history(report: Report) -> Plot | None:
    """One panel for each CUDA label, the first part of a wheel's label; one line for each wheel."""
    groups: dict[str, list[Trend]] = {}
    for trend in report.trends:
        if len([point for point in trend.points if point.day is not None]) > 1:
            groups.setdefault(trend.label.split("-")[0], []).append(trend)
    if not groups:
        return None
    names = sorted(groups)

    def draw(narrow: bool) -> Figure:
        columns = 1 if narrow else min(len(names), 3)
        lines = -(-len(names) // columns)
        figure, axes = _figure(narrow, (2.6 if narrow else 3.1) * lines, lines, columns)
        for name, ax in zip(names, axes, strict=False):
            _panel(ax, name, groups[name], report)
        for ax in axes[len(names) :]:
            ax.set_visible(False)
        return figure

    return _plot("history", f"Wheel sizes of {', '.join(names)} over releases, with the limit.", draw)


def _panel(ax: Axes, name: str, trends: Sequence[Trend], report: Report) -> None:
    dates: Any = import_module("matplotlib.dates")
    ends: list[tuple[float, str, str]] = []
    for place, trend in enumerate(sorted(trends, key=lambda t: -t.points[-1].bytes)):
        color = _SERIES[_LINES[place % len(_LINES)]]
        points = [(point.day, point.bytes) for point in trend.points if point.day is not None]
        ax.plot(
            [day for day, _ in points], [size / GIB for _, size in points], color=color, linewidth=1.8,
            marker="o" if len(points) < 12 else None, markersize=3.5,
        )  # fmt: skip
        if trend.rate is not None and trend.rate > 0 and trend.days:
            day, size = points[-1]
            ahead = min(trend.days, _LOOK_AHEAD, 0.6 * (day - points[0][0]) + 7.0)
            ax.plot(
                [day, day + ahead], [size / GIB, (size + trend.rate * ahead) / GIB], color=color,
                linewidth=1.4, linestyle=(0, (2, 2)),
            )  # fmt: skip
            if trend.low is not None and trend.high is not None:
                ax.fill_between(
                    [day, day + ahead], [size / GIB, (size + trend.low * ahead) / GIB],
                    [size / GIB, (size + trend.high * ahead) / GIB], color=color, alpha=0.15, linewidth=0,
                )  # fmt: skip
        ends.append((points[-1][1] / GIB, trend.label.removeprefix(f"{name}-"), color))
    top = max(report.limit / GIB, *(size for size, _, _ in ends)) * 1.06
    bottom = 0.85 * min(point.bytes for trend in trends for point in trend.points) / GIB
    ax.axhline(report.limit / GIB, color=_INK["limit"], linewidth=1.4)
    ax.axhline(report.limit * report.warn / GIB, color=_INK["warn"], linewidth=1.0, linestyle=(0, (4, 3)))
    ax.set_ylim(bottom, top)
    ax.set_title(name, loc="left", fontsize=12, fontweight="bold", color=_INK["ink"])
    ax.set_ylabel("GiB", color=_INK["soft"], fontsize=10)
    ax.grid(axis="y", color=_INK["line"], linewidth=0.5, alpha=0.6)
    ax.set_axisbelow(True)
    # Dates in matplotlib are days since 1970, like Point.day.
    locator = dates.AutoDateLocator(minticks=2, maxticks=5)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    _label_lines(ax, ends, (top - bottom) * 0.075)


def _label_lines(ax: Axes, ends: Sequence[tuple[float, str, str]], step: float) -> None:
    """Label the lines at the right edge, at least ``step`` apart."""
    last = -1.0
    for height, label, color in sorted(ends):
        last = max(height, last + step)
        ax.annotate(
            label, (1.0, last), xycoords=("axes fraction", "data"), xytext=(4, 0), textcoords="offset points",
            va="center", fontsize=9.5, color=color, annotation_clip=False,
        )  # fmt: skip


def _draw_targets(report: Report) -> Plot | None:
    rows = list(reversed([row for row in report.wheels if row.by_target][:_MAX_WHEELS]))
    if not rows:
        return None
    names = sorted({part.name for row in rows for part in row.by_target}, key=_target_order)
    parts = [{part.name: part.bytes for part in row.by_target} for row in rows]
    about = f"Bytes of each wheel by GPU target: {', '.join(names)}; host code and files."
    rest = [row.bytes - sum(part.values()) for row, part in zip(rows, parts, strict=True)]
    stacks = [(name, [part.get(name, 0) for part in parts], _color(name), _shade(name, names)) for name in names]
    stacks.append(("host code and files", rest, _INK["ghost"], 1.0))
    return _plot("targets", about, lambda narrow: _stacked(narrow, [row.label for row in rows], stacks))


def _draw_modules(report: Report) -> Plot | None:
    """The largest modules of the largest wheel with a known inventory."""
    row = next((row for row in report.wheels if row.by_module), None)
    if row is None:
        return None
    parts = list(reversed(row.by_module[:_MAX_MODULES]))
    stacks = [(row.label, [part.bytes for part in parts], _INK["bar"], 1.0)]
    about = f"The largest modules of {row.label}; the largest is {parts[-1].name} with {size(parts[-1].bytes)}."
    return _plot("modules", about, lambda narrow: _stacked(narrow, [part.name for part in parts], stacks))


Stack = tuple[str, Sequence[int], str, float]  # name, bytes of each bar, color, opacity


def _stacked(narrow: bool, names: Sequence[str], stacks: Sequence[Stack]) -> Figure:
    legend = len(stacks) > 1
    lines = -(-len(stacks) // (3 if narrow else _LEGEND_COLUMNS)) if legend else 0
    figure, (ax,) = _figure(narrow, 0.6 + 0.33 * len(names) + 0.28 * lines)
    start = [0.0] * len(names)
    totals = [sum(stack[1][place] for stack in stacks) for place in range(len(names))]
    unit, scale = _unit(max(totals, default=0))
    for name, sizes, color, strength in stacks:
        lengths = [size / scale for size in sizes]
        ax.barh(
            range(len(names)), lengths, left=start, height=0.62, color=color, alpha=strength, label=name,
            edgecolor=_INK["paper"], linewidth=0.6,
        )  # fmt: skip
        start = [at + length for at, length in zip(start, lengths, strict=True)]
    for place, total in enumerate(totals):
        ax.annotate(
            size(total), (total / scale, place), xytext=(5, 0), textcoords="offset points", va="center",
            color=_INK["ink"], fontsize=10,
        )  # fmt: skip
    most = 22 if narrow else 40
    ax.set_yticks(range(len(names)), [_shorten(name, most) for name in names])
    ax.tick_params(axis="y", labelcolor=_INK["ink"])
    ax.set_xlim(0, max(max(start, default=0.0), 1e-9) * (1.3 if narrow else 1.12))
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.set_xlabel(unit, color=_INK["soft"], fontsize=10)
    if legend:
        shown: Any = figure.legend(
            loc="outside upper left", ncols=3 if narrow else _LEGEND_COLUMNS, frameon=False, fontsize=10,
            handlelength=1.0, columnspacing=1.2, labelcolor=_INK["ink"],
        )  # fmt: skip
        shown.set_zorder(5)
    return figure


def _unit(most: float) -> tuple[str, float]:
    return ("GiB", GIB) if most >= GIB else ("MiB", MIB) if most >= MIB else ("KiB", 1024.0)


def _shorten(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 3]}..."


def _target_order(target: str) -> tuple[int, int, str]:
    major, _, rest = target.partition(".")
    return int(major), int(rest[0]), rest[1:]


def _color(target: str) -> str:
    return _SERIES[_MAJOR_COLORS.get(target.split(".", maxsplit=1)[0], 6)]


def _shade(target: str, names: Sequence[str]) -> float:
    """The opacity of a target: the later targets of a major are paler."""
    same = [name for name in names if _color(name) == _color(target)]
    return 1.0 - 0.55 * same.index(target) / max(len(same), 1)
