"""A cell of examples/minikernels through the station, with both toolchains: the record, the code, the same bytes."""

import platform
import zipfile
from pathlib import Path

import pytest

from fatwheel.building.build_cell import build_cell, can_build
from fatwheel.building.job import BuildOverrides
from fatwheel.declaration import load
from fatwheel.plan import find_cell
from fatwheel.records.build import BuildRecord
from fatwheel.targets import dotted
from fatwheel.wheels.checks.expected import expected_of
from fatwheel.wheels.formats.elf import read_elf
from fatwheel.wheels.io.byte_sources import BytesSource
from fatwheel.wheels.reading.inventory import read_inventory
from fatwheel.wheels.verify import verify

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("toolchain")]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "minikernels" / "matrix.yaml"
CELL = f"cu130-{platform.machine()}-sm12x"


@pytest.mark.parametrize("toolchain", ["system", "pypi"])
def test_a_cell_is_built(tmp_path, toolchain):
    declaration = load(EXAMPLE)
    wanted = find_cell(declaration, CELL)
    reason = can_build(declaration, wanted, toolchain=toolchain)
    if reason:
        pytest.skip(reason)
    record = build_cell(
        declaration, wanted, tmp_path, toolchain=toolchain, modules=["softmax"], tuning=BuildOverrides(cache="off")
    )
    wheel = tmp_path / record.wheel
    assert BuildRecord.read(tmp_path / f"{record.wheel}.build.json") == record
    assert (record.toolchain.kind, record.toolchain.release, record.slice) == (toolchain, "13.0", ["softmax"])
    assert dotted(read_inventory(wheel).targets) == "8.0 12.0f" == dotted(wanted.targets)
    assert "softmax" in [module.name for module in record.modules]
    assert verify(wheel, expected_of(wanted, build=record)).valid
    with zipfile.ZipFile(wheel) as archive:
        library = read_elf(BytesSource(archive.read("minikernels/lib/softmax.so")))
    assert (2, 0) < library.glibc <= (2, 28)  # whatever this machine has
    assert sorted(path.name for path in tmp_path.iterdir()) == [wheel.name, f"{wheel.name}.build.json"]


def test_a_kernel_that_does_not_compile_is_told_in_the_compilers_words(tmp_path, monkeypatch):
    declaration = load(EXAMPLE)
    wanted = find_cell(declaration, CELL)
    if can_build(declaration, wanted):
        pytest.skip(str(can_build(declaration, wanted)))
    from fatwheel.errors import BuildError

    monkeypatch.setenv("NVCC_PREPEND_FLAGS", "-DM_PI=error -include no_such_header.h")
    with pytest.raises(BuildError, match=r"no_such_header\.h") as caught:
        build_cell(declaration, wanted, tmp_path / "dist", modules=["softmax"])
    assert caught.value.exit_code == 4
    assert not (tmp_path / "dist").exists()
