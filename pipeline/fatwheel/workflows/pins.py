"""The actions that workflows use, each at one commit: the one place where these commits are said."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fatwheel.errors import UsageError
from fatwheel.workflows.text import Noted

OWN_PINS = Path(".github/fatwheel/actions.json")
"""Where a repository may say pins of its own, in the form of fatwheel's."""

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Pin:
    """One action: the version that people know it by, and the commit that is run."""

    action: str
    version: str
    commit: str

    @property
    def uses(self) -> Noted:
        """The value of a step's ``uses``."""
        return Noted(f"{self.action}@{self.commit}", self.version)


Pins = Mapping[str, Pin]


@cache
def shipped() -> Pins:
    """The pins that come with fatwheel."""
    return read_pins(shipped_path())


def shipped_path() -> Path:
    """The file that holds them."""
    return Path(__file__).resolve().parent.parent / "data" / "actions.json"


def pins_of(root: Path) -> Pins:
    """The pins for a repository: its own where it has some, else those that come with fatwheel."""
    own = root / OWN_PINS
    return {**shipped(), **read_pins(own)} if own.is_file() else shipped()


def read_pins(path: Path) -> Pins:
    """Read a file of pins. Raises `UsageError` with all that is wrong in it."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"not JSON: {error}", where=str(path)) from None
    if not isinstance(rows, dict):
        raise UsageError("not an object of actions", where=str(path), help='write {"OWNER/ACTION": {...}}')
    wrong = [
        action for action, row in rows.items()
        if not isinstance(row, dict) or not isinstance(row.get("version"), str)
        or not _COMMIT.fullmatch(str(row.get("commit")))
    ]  # fmt: skip
    if wrong:
        raise UsageError(
            f"{', '.join(wrong)}: no pin", where=str(path), help="give version and commit, 40 hex digits of it"
        )
    return {action: Pin(action, row["version"], row["commit"]) for action, row in rows.items()}


def pins_text(pins: Pins) -> str:
    """A file of pins, an action a line, sorted."""
    rows = (
        f"  {json.dumps(pin.action)}: {json.dumps({'version': pin.version, 'commit': pin.commit})}"
        for pin in sorted(pins.values(), key=lambda pin: pin.action)
    )
    return "{\n" + ",\n".join(rows) + "\n}\n"
