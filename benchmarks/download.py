"""Measure the download of a dry run of pip and uv for a wheel of 38 MiB behind a redirect, with and without .metadata.

``python benchmarks/download.py [--mib 38]`` prints the bytes sent by the servers, including headers and the project
page. Requires uv.
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

from fatwheel.index import make_index  # noqa: E402 - from this checkout
from fatwheel.stores import open_store  # noqa: E402
from tests.integration.hosts import hosts  # noqa: E402
from tests.unit.index.assets import Shelf  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=38, help="size of each wheel in MiB")
    size = parser.parse_args().mib << 20
    print(f"{'':24} {'pip':>12} {'uv':>12}   bytes sent")
    for label, metadata in (("with .metadata", True), ("without .metadata", False)):
        with tempfile.TemporaryDirectory() as folder:
            shelf = Shelf(Path(folder))
            for family in ("sm9x", "sm10x", "sm12x"):
                shelf.wheel(f"1.0+cu130.{family}", metadata=metadata, tags="py3-none-any", blob=size)
            with hosts(shelf.out, shelf.store) as served:
                make_index(open_store(f"dir:{shelf.store}"), shelf.out, served.downloads)
                counts = []
                for command in commands(Path(folder), f"{served.pages}cu130/"):
                    served.sent.clear()
                    subprocess.run(command, check=True, capture_output=True, env=clean_environment())
                    counts.append(served.total)
            print(f"{label:24} {counts[0]:12,} {counts[1]:12,}")


def commands(folder: Path, page: str) -> list[list[str]]:
    """Return the dry runs of pip and uv for a new environment."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    python, pin = str(folder / "env/bin/python"), "demo-kernels==1.0+cu130.sm12x"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-cache-dir"]
    uv = ["uv", "pip", "install", "--python", python, "--no-cache", "--no-config"]
    return [[*tool, "--dry-run", "--index-url", page, pin] for tool in (pip, uv)]


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}


if __name__ == "__main__":
    main()
