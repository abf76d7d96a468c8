"""Compare one fat build and a split with one build per family: minikernels with cu130, end to end.

``python benchmarks/split.py`` prints seconds and their ratio, without a compiler cache and (if sccache is installed)
with a warm one, and the sizes of the wheels. Uses the CUDA 13.0 toolkit of this machine, or downloads it from PyPI.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "minikernels"
FAMILIES = ("sm9x", "sm10x", "sm12x")


def main() -> None:
    arch = platform.machine()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        project = place / "minikernels"
        shutil.copytree(EXAMPLE, project)
        fat = project / "fat.yaml"
        fat.write_text((project / "matrix.yaml").read_text().replace("layout: family", "layout: fat"))
        modes = [("no cache", "off")]
        if shutil.which("sccache"):
            os.environ["SCCACHE_DIR"] = str(place / "cache")
            modes.append(("warm sccache", "write"))
        for title, cache in modes:
            if cache != "off":
                build_families(project, arch, place / "fill-several", cache)
                build_and_split(project, fat, arch, place / "fill-one", cache)
            apart = build_families(project, arch, place / f"several-{cache}", cache)
            together = build_and_split(project, fat, arch, place / f"one-{cache}", cache)
            ratio = f"ratio {apart / together:.2f}"
            print(f"{title}: three builds {apart:.1f} s, a build and a split {together:.1f} s, {ratio}")
        show_sizes(place / "several-off", place / "one-off")


def build_families(project: Path, arch: str, out: Path, cache: str) -> float:
    """Return the seconds of one build per family."""
    start = time.perf_counter()
    for family in FAMILIES:
        build(project / "matrix.yaml", f"cu130-{arch}-{family}", out, cache)
    return time.perf_counter() - start


def build_and_split(project: Path, fat: Path, arch: str, out: Path, cache: str) -> float:
    """Return the seconds of one build for all targets and a split."""
    start = time.perf_counter()
    build(fat, f"cu130-{arch}-all", out / "fat", cache)
    (wheel,) = (out / "fat").glob("*.whl")
    fatwheel("split", str(wheel), "--matrix", str(project / "matrix.yaml"), "-o", str(out))
    return time.perf_counter() - start


def build(matrix: Path, cell: str, out: Path, cache: str) -> None:
    fatwheel("build", cell, "--matrix", str(matrix), "--cache", cache, "-o", str(out))


def fatwheel(*arguments: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "pipeline")}
    subprocess.run([sys.executable, "-m", "fatwheel", *arguments], env=environment, check=True, capture_output=True)


def show_sizes(apart: Path, together: Path) -> None:
    (fat,) = (together / "fat").glob("*.whl")
    print(f"fat wheel: {fat.stat().st_size:,} bytes")
    for wheel in sorted(together.glob("*.whl")):
        direct, part = (apart / wheel.name).stat().st_size, wheel.stat().st_size
        print(f"{wheel.name.split('-')[1]}: built {direct:,} bytes, split {part:,} bytes, ratio {part / direct:.3f}")


if __name__ == "__main__":
    main()
