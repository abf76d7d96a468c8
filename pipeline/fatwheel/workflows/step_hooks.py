"""Step hooks: a repository's own steps, inserted into generated jobs at named places."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from fatwheel.errors import UsageError

HOOKS = {
    "before-build": "in each build job, before the wheel is built",
    "after-build": "in each build job, after the wheel is uploaded",
    "before-smoke": "in each GPU test job, before the test",
    "after-smoke": "in each GPU test job, after the test",
    "before-publish": "in the publish job, before anything is uploaded",
    "after-publish": "at the end of the publish job",
    "before-index": "in the index job, before the index is built",
}
"""Hook name -> where its steps are inserted. The steps are in ``.github/fatwheel/NAME.yml``."""

FOLDER = Path(".github/fatwheel")
PINNED = re.compile(r"\./.*|docker://.*@sha256:[0-9a-f]{64}|[^@]+@[0-9a-f]{40}")
"""An action of the repository itself, or one pinned to a digest or a full commit."""


def read_hooks(root: Path) -> Mapping[str, str]:
    """Read the steps of each hook, as written. Raises `UsageError` with all errors in the files."""
    found: dict[str, str] = {}
    errors: list[str] = []
    folder = root / FOLDER
    for path in sorted([*folder.glob("*.yml"), *folder.glob("*.yaml")]):
        file = f"{FOLDER / path.name}"
        if path.suffix != ".yml" or path.stem not in HOOKS:
            errors.append(f"{file}: unknown hook; use one of: {', '.join(HOOKS)}")
            continue
        text = path.read_text(encoding="utf-8").replace("\r\n", "\n")
        file_errors = _check_steps(text)
        errors += [f"{file}: {error}" for error in file_errors]
        if not file_errors:
            found[path.stem] = _normalize(text)
    if errors:
        raise UsageError("\n".join(errors), help="a hook file contains a list of steps with actions pinned to commits")
    return found


def _check_steps(text: str) -> list[str]:
    try:
        steps: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return [f"invalid YAML: {error}".splitlines()[0]]
    if not isinstance(steps, list) or not steps or not all(isinstance(step, dict) for step in steps):
        return ["not a list of steps"]
    first = next(line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#"))
    if not first.startswith("- "):
        return ["the list must not be indented"]
    found = []
    for number, step in enumerate(steps, 1):
        if ("run" in step) == ("uses" in step):
            found.append(f"step {number} needs either run or uses")
        if "uses" in step and not PINNED.fullmatch(str(step["uses"])):
            found.append(f"step {number}: {step['uses']} is not pinned to a full commit")
        if "${{" in str(step.get("run", "")):
            found.append(f"step {number}: an expression in `run` allows code injection; pass the value through env")
    return found


def _normalize(text: str) -> str:
    """Strip empty lines around the steps and trailing spaces; end with a newline. Comments stay."""
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n")) + "\n"
