"""What a dry run of pip and of uv fetches for a 40 MB wheel behind a redirect, with its .metadata and without.

``python benchmarks/download.py [--mb 40]`` prints bytes that the servers sent, headers and index page too. Needs uv.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "pipeline")]

from fatwheel.index import make_index  # noqa: E402 - the checkout's own
from fatwheel.stores import open_store  # noqa: E402
from tests.integration.hosts import hosts  # noqa: E402
from tests.unit.index.assets import Shelf  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=40)
    size = parser.parse_args().mb * 1_000_000
    print(f"{'':24} {'pip':>12} {'uv':>12}   bytes sent")
    for what, metadata in (("with .metadata", True), ("without", False)):
        with tempfile.TemporaryDirectory() as folder:
            shelf = Shelf(Path(folder))
            for family in ("sm9x", "sm10x", "sm12x"):
                shelf.wheel(f"1.0+cu130.{family}", metadata=metadata, tags="py3-none-any", blob=size)
            with hosts(shelf.out, shelf.store) as served:
                make_index(open_store(f"dir:{shelf.store}"), shelf.out, served.downloads)
                counts = []
                for command in commands(Path(folder), f"{served.pages}cu130/"):
                    served.sent.clear()
                    subprocess.run(command, check=True, capture_output=True, env=plain())
                    counts.append(served.total)
            print(f"{what:24} {counts[0]:12,} {counts[1]:12,}")


def commands(folder: Path, page: str) -> list[list[str]]:
    """The two dry runs, into an environment of their own."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    python, pin = str(folder / "env/bin/python"), "demo-kernels==1.0+cu130.sm12x"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-cache-dir"]
    uv = ["uv", "pip", "install", "--python", python, "--no-cache", "--no-config"]
    return [[*tool, "--dry-run", "--index-url", page, pin] for tool in (pip, uv)]


def plain() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}


if __name__ == "__main__":
    main()
