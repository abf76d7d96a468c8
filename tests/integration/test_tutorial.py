"""The tutorial works as written, from matrix.yaml to an installed wheel."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.unit.docs import examples

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("toolchain")]


def test_only_the_tutorial_has_slow_examples() -> None:
    slow = {step.page for step in examples.steps() if step.slow}
    assert slow == {"tutorial.md"}


@pytest.mark.skipif(sys.platform != "linux", reason="wheels are built on Linux")
def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    if not (shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")):
        pytest.skip("no nvcc on this machine, and downloading one takes minutes")
    steps = [step for step in examples.steps() if step.page == "tutorial.md"]
    folder = examples.workplace("minikernels", tmp_path / "minikernels")
    for step in steps:
        printed = examples.run(step, folder)
        assert examples.matches(step.shown, printed), f"$ {step.command}\n{printed}"
