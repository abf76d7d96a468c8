"""Select the cells of a channel, and suggest IDs for globs that match nothing."""

from __future__ import annotations

import difflib
import fnmatch
from os.path import commonprefix

from fatwheel.declaration.model import Channel
from fatwheel.errors import UsageError
from fatwheel.plan.dependencies import UnmetRequirement, resolve_requirements
from fatwheel.plan.expand import Expansion, PlannedCell
from fatwheel.vocabulary import ChannelName


def matches(cell_id: str, patterns: list[str]) -> bool:
    """Whether an ID matches any of these globs."""
    return any(fnmatch.fnmatchcase(cell_id, pattern) for pattern in patterns)


def select_cells(
    expansion: Expansion, name: ChannelName, channel: Channel
) -> tuple[list[PlannedCell], list[UnmetRequirement]]:
    """The cells of a channel with their requirements, and the unmet requirements.

    Wheels of pull requests are not published, so their requirements are resolved among all cells.
    """
    chosen = [m for m in expansion.planned if name in m.package.channels and matches(m.cell.id, channel.select)]
    return resolve_requirements(chosen, expansion.planned if name == "pull-request" else None)


def suggest_pattern(pattern: str, ids: list[str]) -> str:
    """Return the help for a glob that matches nothing."""
    close = difflib.get_close_matches(pattern, ids, n=1, cutoff=0.6)
    if close or not ids:
        return f"did you mean '{close[0]}'?" if close else "matrix.yaml declares no cells"
    likest = max(ids, key=lambda one: len(commonprefix([pattern, one])))  # noqa: RUF071 - of text, not of paths
    return f"IDs look like {likest}"


def unknown_cell_error(text: str, known: list[str], channel: str | None = None) -> UsageError:
    """The error for an ID or glob that matches nothing, with similar IDs."""
    where = f" of channel '{channel}'" if channel else ""
    ids = list(dict.fromkeys(known))
    close = difflib.get_close_matches(text, ids, n=3, cutoff=0.7)
    listed = ", ".join(ids[:12]) + (" ..." if len(ids) > 12 else "")
    return UsageError(
        f"'{text}' matches no cell{where}",
        help=f"did you mean {', '.join(close)}?" if close else f"cells: {listed or 'none'}",
    )
