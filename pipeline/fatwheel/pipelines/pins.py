"""Move the pins of GitHub actions to their newest versions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fatwheel.atomic import write_atomically
from fatwheel.workflows.action_versions import fetch_newest, find_handwritten, update_pins
from fatwheel.workflows.context import MARK
from fatwheel.workflows.pins import OWN_PINS, Pins, format_pins


def update_action_pins(
    root: Path, before: Pins, server: str, output: Path | None, environ: Mapping[str, str]
) -> tuple[Pins, list[str]]:
    """Write the newest pins to ``output`` (default: the repository's own) and to handwritten workflows.

    Returns the pins and the files changed. Raises `ReleaseRefused` if a repository cannot be read; then nothing is
    written.
    """
    after: Pins = {name: fetch_newest(name, server, environ) for name in before}
    changed: list[str] = []
    if after != before:
        place = output or root / OWN_PINS
        write_atomically(place, format_pins(after).encode())
        changed.append(str(place))
    for path in find_handwritten(root / ".github", [f"# {MARK} "]):
        text = path.read_text(encoding="utf-8")
        if (updated := update_pins(text, after)) != text:
            write_atomically(path, updated.encode())
            changed.append(str(path))
    return after, changed
