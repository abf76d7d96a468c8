"""The newest version of each pinned action, as its repository tells, and pins put into workflows written by hand."""

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


def newest(action: str, server: str, environ: Mapping[str, str]) -> Pin:
    """The highest version of an action that is no prerelease. Raises `ReleaseRefused` if its repository says none."""
    remote = f"{server.rstrip('/')}/{action}"
    env = {**environ, "GIT_TERMINAL_PROMPT": "0"}
    answer = run(["git", "ls-remote", "--tags", remote], env=env, timeout=_SECONDS)
    if answer.status != 0:
        raise ReleaseRefused(f"{remote} cannot be read:\n{answer.tail or answer.ended}", help="check the connection")
    return chosen(action, answer.output)


def chosen(action: str, listing: str) -> Pin:
    """The same from the lines of ``git ls-remote --tags``; of an annotated tag, the commit that it names."""
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
        raise ReleaseRefused(f"{action} has no tag like v1.2.3", help="pin it by hand")
    version, commit = found[max(found)]
    return Pin(action, version, commit)


def repinned(text: str, pins: Pins) -> str:
    """A workflow's text with the pinned actions at their commits; what is not pinned by commit stays as it is."""

    def put(match: re.Match[str]) -> str:
        pin = pins.get(match["action"])
        if pin is None:
            return match[0]
        return f"{match['lead']}{pin.action}{match['rest']}@{pin.commit} # {pin.version}"

    return _USES.sub(put, text)


def handwritten(folder: Path, marks: Iterable[str]) -> list[Path]:
    """The workflows and actions in a folder of .github that no generator wrote."""
    files = sorted([*folder.rglob("*.yml"), *folder.rglob("*.yaml")])
    return [path for path in files if not path.read_text(encoding="utf-8").startswith(tuple(marks))]
