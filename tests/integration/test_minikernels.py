"""examples/minikernels through a real nvcc, and on a GPU where there is one."""

import ctypes
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fatwheel.targets import dotted
from fatwheel.wheels.formats.elf import read_elf
from fatwheel.wheels.io.byte_sources import BytesSource
from fatwheel.wheels.reading.inventory import read_inventory

pytestmark = pytest.mark.integration

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "minikernels"
HOME = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))

TWO = ("--only", "softmax")  # and runtime, which comes with any other

needs_nvcc = pytest.mark.skipif(not (HOME / "bin" / "nvcc").is_file(), reason=f"no nvcc in {HOME} (CUDA_HOME)")
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")


def capability():
    """That of the first GPU, by its driver, or None."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    major, minor, device = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0):
        return None
    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
    driver.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
    return major.value, minor.value


def build(example, out, *arguments, targets="9.0a", **environment):
    command = [sys.executable, example / "build.py", "--out", out, "--targets", targets, "--version", "0.1.0+cu130"]
    return subprocess.run(
        [*map(str, command), *arguments],
        env=os.environ | {"CUDA_HOME": str(HOME)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def copied(place):
    return Path(shutil.copytree(EXAMPLE, place, ignore=shutil.ignore_patterns("__pycache__")))


def digests(tree):
    return {
        str(path.relative_to(tree)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(tree.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Two modules for 9.0a."""
    place = tmp_path_factory.mktemp("minikernels")
    answer = build(EXAMPLE, place / "out", *TWO, "--report", str(place / "report.json"))
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return place


@needs_nvcc
@needs_compiler
class TestTheBuild:
    def test_the_tree_is_what_site_packages_will_hold(self, built):
        sources = {path.name for path in (EXAMPLE / "minikernels").glob("*.py")}
        assert set(digests(built / "out")) == {
            "minikernels/_version.py",
            "minikernels/lib/runtime.so",
            "minikernels/lib/softmax.so",
            *(f"minikernels/{name}" for name in sources),
        }

    def test_the_report_says_what_was_built(self, built):
        report = json.loads((built / "report.json").read_text())
        assert report["excluded_modules"] == []
        assert [(m["name"], m["targets"]) for m in report["modules"]] == [
            ("runtime", ["9.0a"]),
            ("softmax", ["9.0a"]),
        ]

    def test_the_version_file_says_version_and_targets(self, built):
        text = (built / "out" / "minikernels" / "_version.py").read_text()
        assert '__version__ = "0.1.0+cu130"' in text
        assert 'targets = "9.0a"' in text

    def test_only_the_c_abi_is_exported(self, built):
        library = built / "out" / "minikernels" / "lib" / "softmax.so"
        if shutil.which("nm") is None:
            pytest.skip("no nm")
        listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
        assert [line.split()[-1] for line in listed.stdout.splitlines()] == ["mk_softmax"]
        assert ctypes.CDLL(str(library)).mk_softmax

    def test_the_machine_code_is_for_the_target_and_no_other(self, built):
        inventory = read_inventory(built / "out" / "minikernels" / "lib" / "softmax.so")
        assert [dotted(module.targets) for module in inventory.modules] == ["9.0a"]

    def test_it_searches_no_folder_of_this_machine_and_needs_no_cuda_library(self, built):
        elf = read_elf(BytesSource((built / "out" / "minikernels" / "lib" / "softmax.so").read_bytes()))
        assert elf.rpath == elf.runpath == ()
        assert not [name for name in elf.needed if "cuda" in name]

    def test_the_same_sources_elsewhere_give_the_same_bytes(self, built, tmp_path):
        example = copied(tmp_path / "other" / "place")
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        answer = build(example, tmp_path / "out", *TWO, TMPDIR=str(scratch))
        assert answer.returncode == 0, answer.stderr
        assert digests(tmp_path / "out") == digests(built / "out")

    def test_a_failed_build_shows_the_compilers_words_and_leaves_the_older_result(self, built, tmp_path):
        example = copied(tmp_path / "example")
        (example / "kernels" / "softmax.cu").write_text("int wrong = nowhere;\n")
        out = Path(shutil.copytree(built / "out", tmp_path / "out"))
        answer = build(example, out, *TWO)
        assert answer.returncode == 1
        assert "softmax.cu: nvcc exited with code" in answer.stderr
        assert 'softmax.cu(1): error: identifier "nowhere" is undefined' in answer.stderr
        assert digests(out) == digests(built / "out")
        assert [path.name for path in out.iterdir()] == ["minikernels"]

    def test_a_target_that_nvcc_does_not_know_is_its_error(self, tmp_path):
        answer = build(EXAMPLE, tmp_path / "out", *TWO, targets="3.5")
        assert answer.returncode == 1
        assert "compute_35" in answer.stderr
        assert list((tmp_path / "out").iterdir()) == []

    def test_a_build_again_takes_the_place_of_the_first(self, built, tmp_path):
        out = Path(shutil.copytree(built / "out", tmp_path / "out"))
        (out / "minikernels" / "old.py").touch()
        assert build(EXAMPLE, out, *TWO).returncode == 0
        assert digests(out) == digests(built / "out")

    def test_an_ended_build_leaves_nothing(self, tmp_path):
        out = tmp_path / "out"
        command = [sys.executable, EXAMPLE / "build.py", "--out", out, "--targets", "9.0a", "--version", "1"]
        process = subprocess.Popen(
            command,
            env=os.environ | {"CUDA_HOME": str(HOME)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while process.poll() is None and not list(out.glob(".build-*/exports.map")):
            time.sleep(0.01)
        process.terminate()
        _, said = process.communicate()
        assert (process.returncode, said) == (130, "build.py: interrupted\n")
        assert list(out.iterdir()) == []

    @pytest.mark.skipif(capability() is not None, reason="this machine has a GPU")
    def test_without_a_driver_the_first_call_says_that_there_is_no_gpu(self, built):
        code = "import minikernels, numpy; minikernels.softmax(numpy.ones((2, 3), numpy.float32))"
        answer = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONPATH": str(built / "out")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == 1
        assert "minikernels.errors.NoDevice: runtime: no usable GPU found" in answer.stderr


def smoke(out):
    return subprocess.run(
        [sys.executable, "-m", "minikernels.smoke", "--json"],
        env=os.environ | {"PYTHONPATH": str(out)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """All modules, for the GPU of this machine and for one of another major."""
    major, minor = capability()
    place = tmp_path_factory.mktemp("whole")
    for name, target in (("right", f"{major}.{minor}"), ("wrong", "12.0f" if major != 12 else "9.0a")):
        answer = build(EXAMPLE, place / name, targets=target)
        assert answer.returncode == 0, answer.stderr
    return place


@pytest.mark.gpu
@needs_nvcc
@needs_compiler
@pytest.mark.skipif(capability() is None, reason="no GPU")
class TestOnAGpu:
    def test_every_kernel_agrees_with_the_reference(self, whole):
        answer = smoke(whole / "right")
        said = json.loads(answer.stdout)
        assert (answer.returncode, said["ok"], len(said["kernels"])) == (0, True, 4)

    def test_machine_code_for_another_gpu_is_a_clear_error_and_no_result(self, whole):
        answer = smoke(whole / "wrong")
        said = json.loads(answer.stdout)
        assert (answer.returncode, said["ok"], said["kernels"]) == (1, False, [])
        assert f"compute capability {said['capability']}" in said["error"]
        assert "no machine code" in said["error"]
