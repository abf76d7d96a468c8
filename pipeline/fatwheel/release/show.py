"""Formats a release record as a table of 80 columns, or as Markdown."""

from __future__ import annotations

from fatwheel.markdown import escape
from fatwheel.markdown import table as markdown_table
from fatwheel.records.release import AssetRecord, ReleaseRecord
from fatwheel.sizes import size

OUTCOME_WIDTH = 9
SIZE_WIDTH = 9


def shorten(name: str, width: int) -> str:
    """Shorten a name in its middle: the start and the end distinguish wheels."""
    if len(name) <= width:
        return name
    head = (width - 1) // 2
    return f"{name[:head]}…{name[len(name) - (width - 1 - head) :]}"


def _size(asset: AssetRecord) -> str:
    return "" if asset.size is None else size(asset.size)


def table(record: ReleaseRecord, width: int = 80) -> str:
    """One line per asset, then the reasons of those not uploaded, notes and a summary."""
    room = width - OUTCOME_WIDTH - SIZE_WIDTH - 4
    lines = []
    for asset in record.assets:
        taken = _size(asset)
        lines.append(f"{asset.outcome:<{OUTCOME_WIDTH}}  {shorten(asset.name, room):<{room}}  {taken:>{SIZE_WIDTH}}")
    lacking = [asset for asset in record.assets if not asset.live]
    if lacking:
        lines += ["", "not uploaded:"]
        for asset in lacking:
            lines += [f"  {asset.name}", f"    {asset.outcome}: {asset.reason}"]
    lines += [f"note: {note}" for note in record.notes]
    lines.append(summary(record))
    return "\n".join(lines)


def summary(record: ReleaseRecord) -> str:
    """One sentence."""
    live = sum(asset.live for asset in record.assets)
    state = "published" if record.published else "not published"
    return f"{record.tag} in {record.store}: {live} of {len(record.assets)} expected assets uploaded; {state}."


def markdown(record: ReleaseRecord) -> str:
    """Markdown for the step summary of a workflow: first the assets not uploaded, then all."""
    lines = [f"### Release `{record.tag}`", "", summary(record), ""]
    lacking = [asset for asset in record.assets if not asset.live]
    if lacking:
        reasons = [(f"`{asset.name}`", f"{asset.outcome}: {asset.reason}") for asset in lacking]
        lines += [*markdown_table(("not uploaded", "reason"), reasons), ""]
    rows = [(f"`{asset.name}`", asset.outcome, _size(asset), str(asset.attempts)) for asset in record.assets]
    lines += markdown_table(("asset", "outcome", "size", "attempts"), rows, right=(2, 3))
    lines += ["", *(f"- {escape(note)}" for note in record.notes)]
    return "\n".join(lines) + "\n"
