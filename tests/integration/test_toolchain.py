"""Both kinds of toolchain for real: each compiles and links a library with the targets that were asked for."""

import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fatwheel.building.toolchain import resolve
from fatwheel.processes import run_group
from fatwheel.wheels.reading.inventory import read_inventory
from tests.unit.building.samples import cell, environment, fake_nvcc

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("toolchain")]

USUAL = Path("/usr/local/cuda")
KERNEL = """
#include <cuda_fp16.h>
#include <cuda.h>
__global__ void twice(__half *x) { x[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x]; }
extern "C" int run(__half *x) { twice<<<1, 32>>>(x); cuInit(0); return (int)cudaDeviceSynchronize(); }
"""


def here(**more):
    return cell(arch=platform.machine(), **more)


def compiled(tools, folder, *options):
    """A library linked against the CUDA runtime and the driver, in the environment that a build has."""
    source, library = folder / "twice.cu", folder / "twice.so"
    source.write_text(KERNEL)
    output = bytearray()
    environ = {
        "PATH": f"{tools.home}/bin:{Path(tools.host.path).parent}:/usr/bin:/bin",
        "LIBRARY_PATH": str(tools.stubs),
        "TMPDIR": str(folder),
    }
    command = [
        "nvcc", "-shared", "-Xcompiler", "-fPIC", "-gencode=arch=compute_90a,code=sm_90a",
        "-gencode=arch=compute_120f,code=sm_120f", *options, "-o", str(library), str(source), "-lcuda",
    ]  # fmt: skip
    status = run_group(command, env=environ, cwd=folder, sink=output.extend)
    assert status == 0, output.decode()
    return library


def targets(library):
    return set(map(str, read_inventory(library).targets))


def test_pypi_gives_a_whole_toolkit(tmp_path):
    tools = resolve("pypi", here(), environ=os.environ, notify=print)
    assert (tools.kind, tools.nvcc.release, tools.record().kind) == ("pypi", "13.0", "pypi")
    assert (tools.home / "lib64" / "libcudart_static.a").is_file()
    for options in ([], ["-cudart", "shared"]):
        assert targets(compiled(tools, tmp_path, *options)) == {"9.0a", "12.0f"}


def test_pypis_toolkit_is_made_once():
    said = []
    tools = resolve("pypi", here(), environ=os.environ, notify=print)
    assert resolve("pypi", here(), environ=os.environ, notify=said.append) == tools
    assert said == []
    left = [path.name for path in tools.home.parents[2].glob(".*") if ".making-" in path.name]
    assert left == []


def test_auto_takes_pypis_where_the_machines_own_is_of_another_release(tmp_path):
    said = []
    other = fake_nvcc(tmp_path / "cuda", "12.9")
    tools = resolve("auto", here(), environ=os.environ, notify=said.append, usual=other)
    assert tools.kind == "pypi"
    assert "is CUDA 12.9, but the cell needs CUDA 13.0; using CUDA 13.0 from PyPI" in said[0]


@pytest.mark.skipif(not (USUAL / "bin" / "nvcc").is_file(), reason=f"no toolkit in {USUAL}")
def test_a_toolkit_of_the_machine_is_used_where_it_fits(tmp_path):
    environ = environment(tmp_path / "cache")
    found = subprocess.run([USUAL / "bin" / "nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    release = found.partition("release ")[2].partition(",")[0]
    tools = resolve("auto", here(toolkit=release), environ=environ, notify=print)
    assert (tools.kind, tools.home, tools.nvcc.release) == ("system", USUAL, release)
    if release.startswith("13."):
        assert targets(compiled(tools, tmp_path)) == {"9.0a", "12.0f"}


def test_an_interrupted_install_leaves_nothing_half_made(tmp_path):
    code = """
import os, sys
from fatwheel.building.toolchain import resolve
from tests.integration.test_toolchain import here
resolve("pypi", here(), environ=os.environ, notify=lambda line: print(line, flush=True))
"""
    environ = environment(tmp_path / "cache", PYTHONPATH=Path(__file__).resolve().parents[2] / "pipeline")
    caller = subprocess.Popen(
        [sys.executable, "-c", code], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert "CUDA 13.0 from PyPI" in caller.stdout.readline()
    time.sleep(0.5)
    caller.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in caller.communicate(timeout=60)[1]
    assert [path.suffix for path in (tmp_path / "cache" / "toolkits").iterdir()] == [".lock"]
