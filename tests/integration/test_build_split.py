"""Build all targets of a CUDA label and CPU at once, and split the wheel into those of its cells."""

import json
import platform
import shutil
from pathlib import Path

import pytest

from fatwheel.__main__ import run
from fatwheel.building.build_cell import can_build
from fatwheel.declaration import load
from fatwheel.plan import find_cell, make_plan
from fatwheel.records.build import BuildRecord
from fatwheel.wheels.checks.expected import expected_of
from fatwheel.wheels.reading.inventory import read_inventory
from fatwheel.wheels.verify import verify

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("toolchain")]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "minikernels"
ARCH = platform.machine()


@pytest.fixture
def matrix(tmp_path):
    """The minikernels example with `split: true`."""
    place = tmp_path / "minikernels"
    shutil.copytree(EXAMPLE, place)
    text = (EXAMPLE / "matrix.yaml").read_text()
    (place / "matrix.yaml").write_text(
        text.replace("      spelling: dotted", "      split: true\n      spelling: dotted")
    )
    declaration = load(place / "matrix.yaml")
    reason = can_build(declaration, find_cell(declaration, f"cu130-{ARCH}-sm12x"))
    if reason:
        pytest.skip(reason)
    return place / "matrix.yaml"


def test_one_build_makes_the_wheels_of_all_families(matrix, tmp_path, capfd):
    out = tmp_path / "dist"
    status = run(["build", f"cu130-{ARCH}-sm*", "-m", str(matrix), "--modules", "softmax", "-o", str(out), "--json",
                  "--cache", "off"])  # fmt: skip
    seen = capfd.readouterr()
    assert status == 0, seen.err
    assert seen.err.count("modules for 7.5 8.0 8.9 9.0a 10.0a 10.3a") == 1
    planned = {one.id: one for one in make_plan(load(matrix)).cells}
    records = [BuildRecord.model_validate(one) for one in json.loads(seen.out)]
    assert [one.cell.id for one in records] == [f"cu130-{ARCH}-{family}" for family in ("sm9x", "sm10x", "sm12x")]
    for record in records:
        wheel = out / record.wheel
        assert record.cell == planned[record.cell.id]
        assert record.split_from == f"minikernels-0.1.0+cu130-py3-none-manylinux_2_28_{ARCH}.whl"
        assert sorted(read_inventory(wheel).targets) == sorted(record.cell.targets)
        seen_by_verify = verify(wheel, expected_of(record.cell, build=record, stamp_files=["minikernels/_version.py"]))
        assert seen_by_verify.valid, seen_by_verify.errors
    names = sorted(path.name for path in out.iterdir())
    assert names == sorted(name for one in records for name in (one.wheel, f"{one.wheel}.build.json"))


def test_a_failed_build_fails_every_cell_of_its_group(matrix, tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("NVCC_PREPEND_FLAGS", "-include no_such_header.h")
    status = run(["build", f"cu130-{ARCH}-sm*", "-m", str(matrix), "-o", str(tmp_path / "dist")])
    assert status == 4
    assert "3 of 3 cells failed" in capfd.readouterr().err
    assert not list((tmp_path / "dist").glob("*"))
