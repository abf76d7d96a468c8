"""A repository's own steps: files with a list of steps, taken into the generated jobs at named places."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from fatwheel.errors import UsageError

SLOTS = {
    "before-build": "in each build job, before the wheel is built",
    "after-build": "in each build job, once the wheel is uploaded",
    "before-smoke": "in each GPU job, before the wheel is tried",
    "after-smoke": "in each GPU job, once it was",
    "before-publish": "in the publishing job, before anything is sent",
    "after-publish": "in the publishing job, at its end, also when something is missing",
    "before-index": "in the index job, before the index is made",
}
"""Name -> where its steps go. A slot's file is ``.github/fatwheel/NAME.yml``."""

FOLDER = Path(".github/fatwheel")
_PINNED = re.compile(r"\./.*|docker://.*@sha256:[0-9a-f]{64}|[^@]+@[0-9a-f]{40}")


def read_slots(root: Path) -> Mapping[str, str]:
    """The steps of each slot that has some, as they are written. Raises `UsageError` with all that is wrong."""
    found: dict[str, str] = {}
    wrong: list[str] = []
    folder = root / FOLDER
    for path in sorted([*folder.glob("*.yml"), *folder.glob("*.yaml")]):
        place = f"{FOLDER / path.name}"
        if path.suffix != ".yml" or path.stem not in SLOTS:
            wrong.append(f"{place}: no such slot; there are: {', '.join(SLOTS)}")
            continue
        text = path.read_text(encoding="utf-8").replace("\r\n", "\n")
        problems = _problems(text)
        wrong += [f"{place}: {problem}" for problem in problems]
        if not problems:
            found[path.stem] = _tidy(text)
    if wrong:
        raise UsageError("\n".join(wrong), help="a slot holds a list of steps, its actions pinned by commit")
    return found


def _problems(text: str) -> list[str]:
    try:
        steps: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return [f"not YAML: {error}".splitlines()[0]]
    if not isinstance(steps, list) or not steps or not all(isinstance(step, dict) for step in steps):
        return ["not a list of steps"]
    first = next(line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#"))
    if not first.startswith("- "):
        return ["the list does not begin at the start of a line"]
    found = []
    for number, step in enumerate(steps, 1):
        if ("run" in step) == ("uses" in step):
            found.append(f"step {number} has neither run nor uses, or both")
        if "uses" in step and not _PINNED.fullmatch(str(step["uses"])):
            found.append(f"step {number}: {step['uses']} is not pinned by its full commit")
        if "${{" in str(step.get("run", "")):
            found.append(f"step {number}: an expression in `run` can be code of somebody else's; pass it by env")
    return found


def _tidy(text: str) -> str:
    """From the first step on, with a line end; remarks before it stay."""
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n")) + "\n"
