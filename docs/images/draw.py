"""Convert terminal output to an SVG: ``script -qec 'nox -s rehearse' out.txt; draw.py TITLE out.txt x.svg``.

``--tail N`` keeps only the last N lines.
"""

from __future__ import annotations

import argparse
import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

DARK = TerminalTheme(
    (24, 27, 34),
    (214, 219, 229),
    [(24, 27, 34), (240, 113, 120), (126, 211, 133), (235, 203, 139), (122, 162, 247), (199, 146, 234),
     (110, 200, 214), (214, 219, 229)],
    [(98, 104, 120), (240, 113, 120), (126, 211, 133), (235, 203, 139), (122, 162, 247), (199, 146, 234),
     (110, 200, 214), (255, 255, 255)],
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("title")
    parser.add_argument("output", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--tail", type=int, default=0)
    arguments = parser.parse_args()
    lines = [line for line in arguments.output.read_text().splitlines() if not line.startswith("Script ")]
    while lines and not lines[-1].strip():
        lines.pop()
    text = Text.from_ansi("\n".join(lines[-arguments.tail :]))
    width = max(len(line.plain.rstrip()) for line in text.split())
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(text, soft_wrap=True)
    drawn = console.export_svg(title=arguments.title, theme=DARK, unique_id="terminal")
    # Use the viewer's monospace font: an image should not download anything.
    drawn = re.sub(r"@font-face \{.*?\}\n", "", drawn, flags=re.DOTALL).replace("Fira Code", "ui-monospace")
    arguments.picture.write_text(re.sub(r"[ \t]+$", "", drawn, flags=re.MULTILINE))


if __name__ == "__main__":
    main()
