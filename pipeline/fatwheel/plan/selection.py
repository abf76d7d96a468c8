"""What a channel takes of all cells: globs over ids, and the channels that each package is part of."""

from __future__ import annotations

import difflib
import fnmatch
from os.path import commonprefix

from fatwheel.declaration.model import Channel
from fatwheel.errors import UsageError
from fatwheel.plan.dependencies import UnmetRequirement, resolve
from fatwheel.plan.expand import Expansion, PlannedCell
from fatwheel.vocabulary import ChannelName


def matches(cell_id: str, patterns: list[str]) -> bool:
    """Whether an id is meant by any of these globs."""
    return any(fnmatch.fnmatchcase(cell_id, pattern) for pattern in patterns)


def select_cells(
    everything: Expansion, name: ChannelName, channel: Channel
) -> tuple[list[PlannedCell], list[UnmetRequirement]]:
    """A channel's cells with what they require, and the needs that the channel does not meet.

    What a pull request builds is not published, so its needs are met from all cells.
    """
    chosen = [m for m in everything.made if name in m.package.channels and matches(m.cell.id, channel.select)]
    return resolve(chosen, everything.made if name == "pull-request" else None)


def suggest_pattern(pattern: str, ids: list[str]) -> str:
    """What a glob that matches nothing may have meant."""
    close = difflib.get_close_matches(pattern, ids, n=1, cutoff=0.6)
    if close or not ids:
        return f"did you mean '{close[0]}'?" if close else "there are no cells"
    likest = max(ids, key=lambda one: len(commonprefix([pattern, one])))  # noqa: RUF071 - of text, not of paths
    return f"ids look like {likest}"


def unknown_cell_error(text: str, known: list[str], channel: str | None = None) -> UsageError:
    """The error for an id or glob that matches nothing, with what it may have meant."""
    where = f" of the channel '{channel}'" if channel else ""
    ids = list(dict.fromkeys(known))
    close = difflib.get_close_matches(text, ids, n=3, cutoff=0.7)
    listed = ", ".join(ids[:12]) + (" ..." if len(ids) > 12 else "")
    return UsageError(
        f"'{text}' matches no cell{where}",
        help=f"did you mean {', '.join(close)}?" if close else f"there are: {listed or 'none'}",
    )
