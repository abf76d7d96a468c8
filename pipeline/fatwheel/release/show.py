"""The record of a release as text, in 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from fatwheel.markdown import escape
from fatwheel.markdown import table as markdown_table
from fatwheel.records.release import AssetRecord, ReleaseRecord
from fatwheel.sizes import size

OUTCOME_WIDTH = 9
SIZE_WIDTH = 9


def shorten(name: str, width: int) -> str:
    """Shorten a name in the middle: both ends of a wheel name distinguish it from others."""
    if len(name) <= width:
        return name
    head = (width - 1) // 2
    return f"{name[:head]}…{name[len(name) - (width - 1 - head) :]}"


def list_names(names: Sequence[str], most: int = 5) -> str:
    """The first names, separated by commas, and an ellipsis if there are more."""
    return ", ".join(names[:most]) + (" ..." if len(names) > most else "")


def _size(asset: AssetRecord) -> str:
    return "" if asset.size is None else size(asset.size)


def table(record: ReleaseRecord, width: int = 80) -> str:
    """Return one line for each asset in the release, then the others once, with reasons, then notes and a summary."""
    room = width - OUTCOME_WIDTH - SIZE_WIDTH - 4
    lines = []
    for asset in record.assets:
        if asset.live:
            size_text = _size(asset)
            lines.append(
                f"{asset.outcome:<{OUTCOME_WIDTH}}  {shorten(asset.name, room):<{room}}  {size_text:>{SIZE_WIDTH}}"
            )
    missing = [asset for asset in record.assets if not asset.live]
    if missing:
        lines += ["", "not in the release:"] if lines else ["not in the release:"]
        for asset in missing:
            about = f" ({_size(asset)})" if asset.size is not None else ""
            lines += [f"  {asset.name}{about}", f"    {asset.outcome}: {asset.reason}"]
    lines += [f"note: {note}" for note in record.notes]
    lines.append(summary(record))
    return "\n".join(lines)


def summary(record: ReleaseRecord) -> str:
    """Return the result in one sentence."""
    present = sum(asset.live for asset in record.assets)
    state = "published" if record.published else "not published"
    return f"{record.tag} in {record.store}: {present} of {len(record.assets)} assets uploaded; {state}."


def markdown(record: ReleaseRecord) -> str:
    """Return the record for the step summary of a workflow: missing assets with reasons, then the others."""
    lines = [f"### Release `{record.tag}`", "", summary(record), ""]
    missing = [asset for asset in record.assets if not asset.live]
    if missing:
        reasons = [(f"`{asset.name}`", f"{asset.outcome}: {asset.reason}") for asset in missing]
        lines += [*markdown_table(("not in the release", "reason"), reasons), ""]
    rows = [
        (f"`{asset.name}`", asset.outcome, _size(asset), str(asset.attempts)) for asset in record.assets if asset.live
    ]
    if rows:
        lines += markdown_table(("asset", "outcome", "size", "attempts"), rows, right=(2, 3))
    lines += ["", *(f"- {escape(note)}" for note in record.notes)]
    return "\n".join(lines) + "\n"
