"""Write to the files that GitHub Actions reads after a step: its outputs and its summary."""

from __future__ import annotations

import os
from pathlib import Path

from fatwheel.console.output import echo_progress


def append_step_summary(markdown: str) -> None:
    """Append to the step summary; do nothing outside GitHub Actions. A failure to write is reported, not raised."""
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            _append(Path(path), markdown)
        except OSError as error:
            echo_progress(f"warning: cannot write the step summary: {error.strerror}")


def append_outputs(lines: str) -> None:
    """Append ``NAME=VALUE`` lines to the step outputs; do nothing outside GitHub Actions.

    Raises `OSError` if they cannot be written, since later jobs depend on them.
    """
    if path := os.environ.get("GITHUB_OUTPUT"):
        _append(Path(path), lines)


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
