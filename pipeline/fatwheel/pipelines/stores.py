"""The release store of a command: the given one, else the repository of a channel in matrix.yaml."""

from __future__ import annotations

from pathlib import Path

from fatwheel.declaration import load
from fatwheel.errors import UsageError


def choose_store_spec(spec: str | None, matrix: Path | None, channel: str = "release") -> str:
    """Return ``spec``, else the store of the channel's repository. Raises `UsageError` if there is neither."""
    if spec:
        return spec
    if matrix:
        declared = {str(name): one for name, one in load(matrix).channels.items()}.get(channel)
        if declared is not None and declared.repository:
            return f"github:{declared.repository}"
    raise UsageError(
        "no store given", help=f"give --store STORE, or declare `repository` at the channel {channel} in matrix.yaml"
    )
