"""Pinned actions: the commit at which workflows use each action."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fatwheel.errors import UsageError
from fatwheel.resources import resource
from fatwheel.workflows.text import Commented

OWN_PINS = Path(".github/fatwheel/actions.json")
"""A repository's own pins, in the format of fatwheel's data file; they take precedence."""

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Pin:
    """One action: its version, and the commit that runs."""

    action: str
    version: str
    commit: str

    @property
    def uses(self) -> Commented:
        """The value of a step's ``uses``."""
        return Commented(f"{self.action}@{self.commit}", self.version)


Pins = Mapping[str, Pin]


@cache
def default_pins() -> Pins:
    """The pins included in fatwheel."""
    return read_pins(default_pins_path())


def default_pins_path() -> Path:
    """The data file with the default pins."""
    return resource("actions.json")


def load_pins(root: Path) -> Pins:
    """Load the pins for a repository: its own, and the default ones for all other actions."""
    own = root / OWN_PINS
    return {**default_pins(), **read_pins(own)} if own.is_file() else default_pins()


def read_pins(path: Path) -> Pins:
    """Read a file of pins. Raises `UsageError` for an invalid file, with all invalid pins."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"invalid JSON: {error}", where=str(path)) from None
    if not isinstance(rows, dict):
        raise UsageError("expected an object of actions", where=str(path), help='write {"OWNER/ACTION": {...}}')
    invalid = [
        action for action, row in rows.items()
        if not isinstance(row, dict) or not isinstance(row.get("version"), str)
        or not _COMMIT.fullmatch(str(row.get("commit")))
    ]  # fmt: skip
    if invalid:
        raise UsageError(
            f"invalid pin: {', '.join(invalid)}",
            where=str(path),
            help="give the version and the full commit (40 hexadecimal digits)",
        )
    return {action: Pin(action, row["version"], row["commit"]) for action, row in rows.items()}


def format_pins(pins: Pins) -> str:
    """Format a file of pins: one action per line, sorted."""
    rows = (
        f"  {json.dumps(pin.action)}: {json.dumps({'version': pin.version, 'commit': pin.commit})}"
        for pin in sorted(pins.values(), key=lambda pin: pin.action)
    )
    return "{\n" + ",\n".join(rows) + "\n}\n"
