"""Console examples of the documentation: found in its pages, run, and held against what the page shows.

A block counts if a comment stands before it: ``<!-- run: PLACE -->`` or ``<!-- run: PLACE slow -->``. Blocks of one
page and place run one after another in one folder. In what is shown, a line ``...`` stands for any lines, and ``...``
in a line for any text.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.unit.report.samples import august

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
_BLOCK = re.compile(
    r"^<!-- run: (?P<place>\S+)(?P<slow> slow)? -->\n```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Step:
    """One command of a page, and the lines that it shows below."""

    page: str
    place: str
    slow: bool
    command: str
    shown: tuple[str, ...]


def pages() -> list[Path]:
    """All pages that people write."""
    found = sorted(DOCS.rglob("*.md"))
    return [page for page in found if not {"_build", "reference"} & set(page.relative_to(DOCS).parts)]


def steps() -> Iterator[Step]:
    """All commands that are run, in order."""
    for page in pages():
        for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
            for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                lines = tuple(line.rstrip() for line in shown.splitlines())
                yield Step(str(page.relative_to(DOCS)), block["place"], bool(block["slow"]), command, lines)


def workplace(place: str, folder: Path) -> Path:
    """A folder to run in: a copy of an example, an empty one, or one with a store."""
    if place == "root":
        folder.mkdir()
        shutil.copy(ROOT / "matrix.yaml", folder)
    elif place == "minikernels":
        shutil.copytree(ROOT / "examples" / "minikernels", folder, ignore=shutil.ignore_patterns("__pycache__"))
    elif place == "august":
        folder.mkdir()
        august(folder / "store")
    elif place == "empty":
        folder.mkdir()
    else:
        shutil.copytree(ROOT / "examples" / "sets" / place, folder)
    return folder


def run(step: Step, folder: Path) -> str:
    """What a command prints, both streams as they come; `fatwheel` and `python` are this checkout's and this one."""
    words = shlex.split(step.command)
    starts = {"fatwheel": [sys.executable, "-m", "fatwheel"], "python": [sys.executable]}
    words = starts.get(words[0], words[:1]) + words[1:]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FATWHEEL", "GITHUB"))}
    env = kept | {"PYTHONPATH": str(ROOT), "COLUMNS": "80", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        words, cwd=folder, env=env, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.stdout


def matches(shown: tuple[str, ...], printed: str) -> bool:
    """Whether what was printed is what the page shows."""
    lines = [line.rstrip() for line in printed.splitlines()]
    parts = []
    for line in [line for line in shown if line]:
        if line == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(r"[^\n]*?".join(map(re.escape, line.split("..."))) + r"\n")
    text = "".join(f"{line}\n" for line in lines if line)
    return re.fullmatch("".join(parts), text) is not None
