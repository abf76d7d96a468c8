"""Console examples of the documentation: find them, run them, and compare their output with the page.

An example is a block after a comment ``<!-- run: PLACE -->`` or ``<!-- run: PLACE slow -->``. Blocks of the same page
and place run in order in one folder. In the expected output, a line ``...`` matches any lines, and ``...`` inside a
line any text.
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
    """One command of a page, with the output that the page shows."""

    page: str
    place: str
    slow: bool
    command: str
    shown: tuple[str, ...]


def pages() -> list[Path]:
    """Return all pages that are not generated."""
    found = sorted(DOCS.rglob("*.md"))
    return [page for page in found if not {"_build", "reference"} & set(page.relative_to(DOCS).parts)]


def steps() -> Iterator[Step]:
    """Yield all commands to run, in order."""
    for page in pages():
        for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
            for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                lines = tuple(line.rstrip() for line in shown.splitlines())
                yield Step(str(page.relative_to(DOCS)), block["place"], bool(block["slow"]), command, lines)


def workplace(place: str, folder: Path) -> Path:
    """Prepare the folder of a place: a copy of an example, an empty one, or one with a store."""
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
    """Run a command and return its output, both streams together; `fatwheel` is this checkout's."""
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
    """Return whether the printed text matches the expected lines."""
    lines = [line.rstrip() for line in printed.splitlines()]
    parts = []
    for line in [line for line in shown if line]:
        if line == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(r"[^\n]*?".join(map(re.escape, line.split("..."))) + r"\n")
    text = "".join(f"{line}\n" for line in lines if line)
    return re.fullmatch("".join(parts), text) is not None
