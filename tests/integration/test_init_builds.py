"""What `fatwheel init` writes builds a plain setuptools project that knows nothing of fatwheel."""

import json
import platform
import shutil
import zipfile
from pathlib import Path

import pytest

from fatwheel.__main__ import run
from fatwheel.building.build_cell import can_build
from fatwheel.declaration import load
from fatwheel.plan import find_cell

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("toolchain")]

CELL, OTHER = (f"cu130-{platform.machine()}-{family}" for family in ("sm9x", "sm10x"))
PROJECT = {
    "pyproject.toml": """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "plainkernels"
version = "1.2"

[tool.setuptools]
packages = ["plainkernels"]
package-data = {plainkernels = ["*.so"]}
""",
    "setup.py": """
import os
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py


class Compiled(build_py):
    def run(self):
        super().run()
        nvcc = os.path.join(os.environ["CUDA_HOME"], "bin", "nvcc")
        out = os.path.join(self.build_lib, "plainkernels", "scale.so")
        if not os.path.exists(out):  # as setuptools takes what is there for up to date
            subprocess.run([nvcc, "-shared", "-Xcompiler", "-fPIC", "-o", out, "scale.cu"], check=True)


setup(cmdclass={"build_py": Compiled})
""",
    "scale.cu": """
__global__ void scale(float* x, float a) { x[blockIdx.x * blockDim.x + threadIdx.x] *= a; }
extern "C" void run_scale(float* x, float a, int blocks) { scale<<<blocks, 128>>>(x, a); }
""",
    "plainkernels/__init__.py": """
import ctypes
from importlib.metadata import version
from pathlib import Path

__version__ = version("plainkernels")
library = ctypes.CDLL(str(Path(__file__).with_name("scale.so")))
""",
    "LICENSE": "As you like.\n",
}


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    for name, text in PROJECT.items():
        path = tmp_path / "plain" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path / "plain")
    return tmp_path / "plain"


def test_from_init_to_a_wheel_that_imports(project, capsys):
    if not shutil.which("g++"):
        pytest.skip("no C++ compiler")
    assert run(["init", "--yes", "--cuda", "13.0", "--spelling", "nvcc", "--targets", "9.0 10.0"]) == 0
    matrix = project / "matrix.yaml"
    declaration = load(matrix)
    reason = can_build(declaration, find_cell(declaration, CELL))
    if reason:
        pytest.skip(reason)
    assert run(["check"]) == 0

    # Its tag is a guess, which the first build corrects.
    assert run(["build", CELL, "-o", "dist"]) == 4
    assert "declare `tag: py3-none`" in capsys.readouterr().err
    matrix.write_text(matrix.read_text().replace("tag: cp39-abi3", "tag: py3-none"))

    assert run(["build", CELL, OTHER, "-o", "dist"]) == 0
    assert not (project / "build").exists()
    wheel, other = (
        project / "dist" / f"plainkernels-1.2+cu130.{family}-py3-none-manylinux_2_28_{platform.machine()}.whl"
        for family in ("sm9x", "sm10x")
    )
    for path, target in ((wheel, "9.0"), (other, "10.0")):
        capsys.readouterr()
        assert run(["inventory", str(path), "--json"]) == 0
        assert set(json.loads(capsys.readouterr().out)[0]["targets"]) == {target}
    assert run(["verify", str(wheel), "--cell", CELL]) == 0
    assert run(["smoke", str(wheel)]) == 0
    assert run(["release", "--store", f"dir:{project / 'store'}", "--tag", "v1.2", str(wheel)]) == 0
    assert run(["index", "--store", f"dir:{project / 'store'}", "-o", "public"]) == 0
    assert wheel.name.replace("+", "%2B") in (project / "public/cu130/sm9x/plainkernels/index.html").read_text()
    with zipfile.ZipFile(wheel) as archive:
        assert "Version: 1.2+cu130.sm9x" in archive.read("plainkernels-1.2+cu130.sm9x.dist-info/METADATA").decode()
