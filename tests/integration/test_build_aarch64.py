"""An aarch64 wheel from another machine, by the cross compiler: what is in it, and its import under qemu."""

import os
import platform
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from fatwheel.building.build_cell import build_cell, can_build
from fatwheel.building.job import BuildOverrides
from fatwheel.declaration import load
from fatwheel.errors import BuildError
from fatwheel.plan import find_cell
from fatwheel.wheels.formats.elf import read_elf
from fatwheel.wheels.io.byte_sources import BytesSource
from fatwheel.wheels.reading.inventory import read_inventory

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("toolchain")]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "minikernels" / "matrix.yaml"
QEMU = "qemu-aarch64-static"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    if platform.machine() == "aarch64":
        pytest.skip("this machine needs no cross compiler")
    declaration = load(EXAMPLE)
    wanted = find_cell(declaration, "cu130-aarch64-sm10x")
    reason = can_build(declaration, wanted)
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("aarch64")
    record = build_cell(declaration, wanted, folder, modules=["softmax"], tuning=BuildOverrides(cache="off"))
    return folder / record.wheel, record


def test_the_wheel_holds_arm_code_for_its_targets_and_keeps_to_the_glibc_floor(built):
    wheel, record = built
    assert wheel.name.endswith("-manylinux_2_28_aarch64.whl")
    assert sorted(read_inventory(wheel).targets) == sorted(record.cell.targets)
    with zipfile.ZipFile(wheel) as archive:
        library = read_elf(BytesSource(archive.read("minikernels/lib/softmax.so")))
    assert library.architecture == "aarch64"
    assert (2, 0) < library.glibc <= (2, 28)
    assert "aarch64-linux-gnu-g++" in record.toolchain.host_compiler


def test_its_libraries_load_under_qemu(built, tmp_path):
    root = os.environ.get("FATWHEEL_TEST_AARCH64_ROOT")
    if shutil.which(QEMU) is None or not root:
        pytest.skip(f"this needs {QEMU}, and an aarch64 system with Python and numpy in FATWHEEL_TEST_AARCH64_ROOT")
    with zipfile.ZipFile(built[0]) as archive:
        archive.extractall(tmp_path)
    libraries = "/usr/lib/aarch64-linux-gnu"
    code = (
        "import ctypes, pathlib, platform, minikernels\n"
        "for path in pathlib.Path(minikernels.__file__).parent.glob('lib/*.so'): ctypes.CDLL(str(path))\n"
        "print(platform.machine(), minikernels.__version__)"
    )
    variables = {
        "PYTHONHOME": f"{root}/usr", "PYTHONPATH": f"{tmp_path}:{root}/usr/lib/python3/dist-packages",
        "LD_LIBRARY_PATH": f"{libraries}/blas:{libraries}/lapack",
    }  # fmt: skip
    options = [part for name, value in variables.items() for part in ("-E", f"{name}={value}")]
    python = f"{root}/usr/bin/python3"
    answer = subprocess.run(
        [QEMU, "-L", root, *options, python, "-c", code], capture_output=True, text=True, check=False
    )
    assert answer.stdout == "aarch64 0.1.0+cu130.sm10x\n", answer.stderr


def test_without_the_cross_compiler_it_says_what_to_install(tmp_path):
    if platform.machine() == "aarch64":
        pytest.skip("this machine needs no cross compiler")
    declaration = load(EXAMPLE)
    environ = dict(os.environ) | {"PATH": "/nonexistent", "FATWHEEL_CACHE": str(tmp_path / "cache")}
    with pytest.raises(BuildError, match="'aarch64-linux-gnu-g\\+\\+' is not on PATH") as caught:
        build_cell(declaration, find_cell(declaration, "cu130-aarch64-sm9x"), tmp_path / "dist", environ=environ)
    assert "g++-aarch64-linux-gnu" in str(caught.value.help)
