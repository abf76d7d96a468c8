"""FlashInfer's own modules, compiled from its wheel's sources: a slice, and what is left out of it."""

import json
import platform
import zipfile
from pathlib import Path

import pytest

from fatwheel.building.build_cell import build_cell, can_build
from fatwheel.declaration import load
from fatwheel.errors import BuildError
from fatwheel.plan import find_cell
from fatwheel.wheels.reading.inventory import read_inventory

# One worker: the build environment, a gigabyte with PyTorch in it, is made once.
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("flashinfer")]

MATRIX = Path(__file__).resolve().parents[2] / "matrix.yaml"


@pytest.fixture(scope="module")
def build():
    declaration = load(MATRIX)
    wanted = find_cell(declaration, f"cu130-{platform.machine()}-sm9x")
    reason = can_build(declaration, wanted)
    if reason:
        pytest.skip(reason)
    return lambda folder, modules: build_cell(declaration, wanted, folder, modules=modules)


def test_a_slice_is_compiled_and_what_has_no_target_is_left_out_with_its_reason(tmp_path, build):
    record = build(tmp_path, ["silu_and_mul", "fp4_quantization_100"])
    targets = ["7.5", "8.0", "8.9", "9.0a"]
    assert record.slice == ["silu_and_mul", "fp4_quantization_100"]
    assert [(module.name, list(map(str, module.targets))) for module in record.modules] == [("silu_and_mul", targets)]
    assert record.modules[0].seconds > 0
    (left_out,) = record.excluded_modules
    assert left_out.name == "fp4_quantization_100"
    assert left_out.reason == "FlashInfer selects it for 10.0 only, and this wheel contains 7.5 8.0 8.9 9.0a"
    wheel = tmp_path / record.wheel
    assert list(map(str, sorted(read_inventory(wheel).targets))) == targets
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        stamp = json.loads(archive.read(f"flashinfer_jit_cache-{record.cell.full_version}.dist-info/fatwheel.json"))
        init = archive.read("flashinfer_jit_cache/__init__.py").decode()
    assert "flashinfer_jit_cache/jit_cache/silu_and_mul/silu_and_mul.so" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert stamp["slice"] == record.slice
    assert f"__version__ = '{record.cell.full_version}'" in init


def test_a_module_that_flashinfer_does_not_have_lists_those_that_it_has(tmp_path, build):
    with pytest.raises(BuildError, match="unknown module 'silu_and_mull'; did you mean silu_and_mul") as caught:
        build(tmp_path / "dist", ["silu_and_mull"])
    log = Path(str(caught.value.help).rpartition(" ")[2]).read_text()
    assert "\n  page\n" in log
    assert "\n  rope\n" in log
    assert not (tmp_path / "dist").exists()
