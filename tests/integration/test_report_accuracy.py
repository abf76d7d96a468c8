"""Compare predicted with actual sizes: the same kernels compiled for fewer targets."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from fatwheel.report.breakdown import break_down
from fatwheel.targets import parse_target, parse_targets
from fatwheel.wheels.reading.inventory import read_inventory

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("toolchain")]

KERNELS = Path(__file__).resolve().parents[2] / "examples" / "minikernels" / "kernels"


def built(folder: Path, *targets: str) -> Path:
    """A wheel with one library for these targets, compressed as releases are."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        pytest.skip("no nvcc on this machine")
    library = folder / f"{'-'.join(targets)}.so"
    codes = [f"-gencode=arch=compute_{target},code=sm_{target}" for target in targets]
    subprocess.run(
        [nvcc, "-shared", "-Xcompiler=-fPIC", "-cudart=none", "--compress-mode=size", *codes, "-o", library,
         KERNELS / "softmax.cu"],
        check=True, capture_output=True,
    )  # fmt: skip
    wheel = folder / f"demo-1.0+cu130.{'.'.join(targets)}-py3-none-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(library, "demo/softmax.so")
        archive.writestr(f"demo-1.0+cu130.{'.'.join(targets)}.dist-info/RECORD", "")
    return wheel


def test_the_size_of_a_target_is_what_dropping_it_saves(tmp_path: Path) -> None:
    full, less = built(tmp_path, "80", "90a", "120f"), built(tmp_path, "80", "90a")
    saved = full.stat().st_size - less.stat().st_size
    breakdown = break_down(read_inventory(full), full.stat().st_size)
    assert breakdown.by_target[parse_target("12.0f")] == pytest.approx(saved, rel=0.1)
    assert breakdown.size_with(parse_targets("8.0 9.0a")) == pytest.approx(less.stat().st_size, rel=0.05)
    assert breakdown.uncertainty(parse_target("12.0f")) == 0
