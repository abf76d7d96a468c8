"""Compare the fat binary reader with cuobjdump, entry by entry, on libraries that nvcc compiles here."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from fatwheel.__main__ import run
from fatwheel.targets import parse_target, parse_targets
from fatwheel.wheels.formats.elf import Elf, read_elf
from fatwheel.wheels.formats.fatbin import SECTIONS, Entry, read_containers
from fatwheel.wheels.io.byte_sources import FileSource
from fatwheel.wheels.making.pack import pack
from fatwheel.wheels.reading.inventory import read_inventory
from fatwheel.wheels.verify import Expected, verify
from tests.unit.wheels.synthetic import stamp

pytestmark = pytest.mark.integration

CUOBJDUMP = "nvidia-cuda-cuobjdump==13.5.37"
TARGETS = ("7.5", "8.0", "9.0a", "10.0a", "12.0f")
SOURCE = """
__global__ void scale(float *x, float f) { x[blockIdx.x * blockDim.x + threadIdx.x] *= f; }
__global__ void sum(float *x, const float *y) { for (int i = 0; i < 64; i++) x[threadIdx.x] += y[i * 32]; }
extern "C" int go(float *x, float *y) { scale<<<1, 32>>>(x, 2.0f); sum<<<1, 32>>>(x, y); return 0; }
"""
BUILDS = {
    "default": [],
    "size": ["--compress-mode=size"],
    "lz4": ["--compress-mode=speed", "-Xfatbin=-compress-all"],
    "relocatable": ["-rdc=true", "--compress-mode=size"],
}


@pytest.fixture(scope="session")
def nvcc() -> Path:
    found = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not found:
        pytest.skip("no nvcc on this machine")
    return Path(found).resolve()


@pytest.fixture(scope="session")
def cuobjdump(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cuobjdump")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), CUOBJDUMP]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        pytest.skip(f"{CUOBJDUMP} cannot be fetched: {done.stderr.strip()[-200:]}")
    with zipfile.ZipFile(wheels[0]) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("bin/cuobjdump")]
        tool = Path(archive.extract(name, folder))
    tool.chmod(0o755)
    return tool


@pytest.fixture(scope="session", params=BUILDS)
def library(request, nvcc, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "k.cu").write_text(SOURCE)
    codes = [f"-gencode=arch=compute_{t},code=sm_{t}" for t in ("75", "80", "90a", "100a")]
    codes.append("-gencode=arch=compute_120f,code=[compute_120f,sm_120f]")
    path = folder / f"{request.param}.so"
    subprocess.run(
        [nvcc, "-shared", "-Xcompiler=-fPIC", f"-L{nvcc.parent.parent / 'lib'}", *BUILDS[request.param], *codes,
         "-o", path, folder / "k.cu"],
        check=True, capture_output=True,
    )  # fmt: skip
    return path


@dataclass(frozen=True)
class Ours:
    headers: Elf
    entries: list[Entry]


def read(path: Path) -> Ours:
    """Entries in cuobjdump's order: whole-program code before relocatable code."""
    with path.open("rb") as file:
        source = FileSource(file)
        headers = read_elf(source)
        sections = sorted((s for s in headers.sections if s.name in SECTIONS), key=lambda s: SECTIONS.index(s.name))
        containers = [one for s in sections for one in read_containers(source, s.offset, s.size)]
    return Ours(headers, [entry for one in containers for entry in one.entries])


def test_entries_equal_those_that_cuobjdump_lists(library, cuobjdump):
    ours = read(library).entries
    listed = subprocess.run([cuobjdump, "-all", library], capture_output=True, text=True, check=True).stdout
    kinds = {"elf": "sass", "ptx": "ptx"}
    theirs = [
        (kinds.get(kind, "other"), str(parse_target(arch)))
        for kind, arch in re.findall(r"Fatbin (\w+) code:\n=+\narch = (\S+)\n", listed)
    ]
    assert [(entry.code, str(entry.target)) for entry in ours] == theirs
    assert {str(entry.target) for entry in ours} == set(TARGETS)


@pytest.mark.parametrize("code", ["sass", "ptx"])
def test_raw_sizes_equal_those_of_extracted_files(library, cuobjdump, code, tmp_path):
    """PTX is kept with the NUL at its end, which is not extracted."""
    option, nul = {"sass": ("-xelf", 0), "ptx": ("-xptx", 1)}[code]
    told = subprocess.run(
        [cuobjdump, "-all", option, "all", library], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    names = re.findall(r"Extracting (?:ELF|PTX) file[^:]*: (\S+)", told)
    assert names
    extracted = [(tmp_path / name).stat().st_size + nul for name in names]
    assert extracted == [entry.raw for entry in read(library).entries if entry.code == code]


def test_compression_follows_the_nvcc_option(library):
    found = {e.compression for e in read(library).entries if e.code == "sass"}
    assert found == {{"default": "none", "size": "zstd", "relocatable": "zstd", "lz4": "lz4"}[library.stem]}


def test_the_inventory_of_a_wheel_equals_that_of_its_library(library, tmp_path, capsys):
    tree = tmp_path / "tree/demo_jit"
    tree.mkdir(parents=True)
    shutil.copy(library, tree / "k.so")
    wheel = pack(tmp_path / "tree", tmp_path, distribution="demo-jit", version="1.0", tags="cp39-abi3-linux_x86_64")
    alone, inside = read_inventory(library), read_inventory(wheel)
    assert inside.targets == alone.targets
    assert list(map(str, inside.targets)) == list(TARGETS)
    assert inside.targets[parse_target("12.0f")].ptx is not None
    assert inside.targets[parse_target("9.0a")].ptx is None
    assert inside.modules[0].wheel_bytes < inside.modules[0].file_bytes == library.stat().st_size
    assert run(["inventory", "--json", str(wheel)]) == 0
    assert json.loads(capsys.readouterr().out) == [json.loads(inside.to_json())]


def test_an_undeclared_target_is_found(library, tmp_path):
    tree = tmp_path / "tree/demo_jit"
    tree.mkdir(parents=True)
    shutil.copy(library, tree / "k.so")
    machine = read(library).headers.architecture
    options = {"distribution": "demo-jit", "version": "1.0", "tags": f"cp39-abi3-linux_{machine}"}
    targets = parse_targets(" ".join([*TARGETS[:-1], "12.0f+PTX"]))
    wheel = pack(
        tmp_path / "tree", tmp_path, **options, embedded=stamp(version="1.0", targets=list(targets), arch=machine)
    )
    assert verify(wheel, Expected(targets=targets, modules={"k": targets})).findings == []
    wrong = verify(wheel, Expected(targets=parse_targets("7.5 8.0 9.0a 10.0a 12.0a"))).findings
    assert [f.kind for f in wrong] == ["target-missing", "target-stray", "target-stray"]
