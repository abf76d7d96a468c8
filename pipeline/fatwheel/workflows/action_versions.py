"""Look up the newest version of each pinned action, and update pins in handwritten workflows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from fatwheel.errors import ReleaseRefused
from fatwheel.processes import run
from fatwheel.workflows.pins import Pin, Pins

_VERSION = re.compile(r"refs/tags/(v?(\d+)\.(\d+)\.(\d+))(\^\{\})?")
_USES = re.compile(
    r"(?P<lead>\buses:\s*)(?P<action>[\w.-]+/[\w.-]+)(?P<rest>(?:/[\w./-]+)?)@[0-9a-f]{40}[ \t]*(?:#.*)?"
)
_SECONDS = 120.0


def fetch_newest(action: str, server: str, environ: Mapping[str, str]) -> Pin:
    """Look up the highest released version of an action.

    Raises `ReleaseRefused` if its repository cannot be read or has no version tag.
    """
    remote = f"{server.rstrip('/')}/{action}"
    env = {**environ, "GIT_TERMINAL_PROMPT": "0"}
    answer = run(["git", "ls-remote", "--tags", remote], env=env, timeout=_SECONDS)
    if answer.status != 0:
        raise ReleaseRefused(f"cannot read {remote}:\n{answer.tail or answer.ended}", help="check the connection")
    return select_newest(action, answer.output)


def select_newest(action: str, listing: str) -> Pin:
    """Select the highest version from the output of ``git ls-remote --tags``.

    For an annotated tag, the pin is the commit it points to. Raises `ReleaseRefused` without any version tag.
    """
    found: dict[tuple[int, ...], tuple[str, str]] = {}
    for line in listing.splitlines():
        commit, _, name = line.partition("\t")
        match = _VERSION.fullmatch(name)
        if not match:
            continue
        number = tuple(map(int, match.group(2, 3, 4)))
        if match[5] or number not in found:
            found[number] = (match[1], commit)
    if not found:
        raise ReleaseRefused(f"{action} has no tag in the form v1.2.3", help="pin it manually")
    version, commit = found[max(found)]
    return Pin(action, version, commit)


def update_pins(text: str, pins: Pins) -> str:
    """Replace the commits of pinned actions in a workflow; anything not pinned to a commit stays unchanged."""

    def replace(match: re.Match[str]) -> str:
        pin = pins.get(match["action"])
        if pin is None:
            return match[0]
        return f"{match['lead']}{pin.action}{match['rest']}@{pin.commit} # {pin.version}"

    return _USES.sub(replace, text)


def find_handwritten(folder: Path, marks: Iterable[str]) -> list[Path]:
    """The YAML files under a .github folder that do not start with any of the marks of a generator."""
    files = sorted([*folder.rglob("*.yml"), *folder.rglob("*.yaml")])
    return [path for path in files if not path.read_text(encoding="utf-8").startswith(tuple(marks))]
