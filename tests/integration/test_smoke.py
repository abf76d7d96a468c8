"""Smoke tests of real wheels in real environments; the driver alone is a stand-in, where there is no GPU."""

import json
import os
import platform
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from fatwheel.__main__ import run
from fatwheel.declaration.model import Package
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.plan import Cell
from fatwheel.records.smoke import SmokeRecord
from fatwheel.smoke import smoke_wheel
from fatwheel.targets import dotted
from fatwheel.wheels.making.pack import pack
from fatwheel.wheels.making.placeholder import write_placeholder

pytestmark = pytest.mark.integration

MACHINE = platform.machine()
LINUX = f"cp39-abi3-manylinux_2_17_{MACHINE}"
FULL = "1.0+cu130.sm9x"
GOOD = {"demo_kernels/__init__.py": f'__version__ = "{FULL}"\n'}


@pytest.fixture
def cc():
    found = shutil.which("cc")
    if found is None:
        pytest.skip("no C compiler here")
    return found


def stamp(**about):
    return EmbeddedMetadata(
        **{
            "distribution": "demo-kernels", "version": FULL, "cuda": "cu130", "toolkit": "13.0", "arch": MACHINE,
            "family": "sm9x", "targets": ["9.0a"], "covers": ["8.0", "9.0"], "commit": None,
        }
        | about
    )  # fmt: skip


def wheel(folder, files=GOOD, *, name="demo-kernels", version=FULL, tags=LINUX, requires=(), stamped=True):
    tree = folder / f"tree-{name}"
    shutil.rmtree(tree, ignore_errors=True)
    for path, data in files.items():
        place = tree / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data if isinstance(data, bytes) else data.encode())
    return pack(
        tree, folder / "wheels", distribution=name, version=version, tags=tags, metadata={"requires_dist": requires},
        embedded=stamp() if stamped else None,
    )  # fmt: skip


def library(cc, folder, name, source="int f(void) { return 1; }", *options):
    place = folder / name
    (folder / "source.c").write_text(source)
    command = [cc, "-shared", "-fPIC", "-o", str(place), str(folder / "source.c"), f"-Wl,-soname,{name}", *options]
    subprocess.run(command, check=True)
    return place


def needing(cc, folder, needed, *options):
    """A library that needs another one, which is not left behind."""
    other = library(cc, folder, needed)
    made = library(cc, folder, "kernels.so", "int f(void); int g(void) { return f(); }", str(other), *options)
    other.unlink()
    return made.read_bytes()


def test_a_good_wheel_passes_and_its_record_lies_beside_it(tmp_path):
    place = wheel(tmp_path)
    record = smoke_wheel(place)
    assert record.import_.outcome == "passed"
    assert record.modules == ["demo_kernels"]
    assert dotted(record.not_executed) == "8.0 9.0"
    assert record.gpu is None
    assert SmokeRecord.read(place.with_name(f"{place.name}.smoke.json")) == record


def test_only_what_a_wheel_declares_is_there(tmp_path):
    record = smoke_wheel(wheel(tmp_path, {"demo_kernels/__init__.py": "import numpy\n"}))
    assert record.import_.outcome == "failed"
    assert "No module named 'numpy' (no dependency of the wheel provides numpy)" in record.import_.detail


def test_what_a_wheel_declares_is_installed(tmp_path):
    dependency = wheel(
        tmp_path, {"helper.py": "x = 1\n"}, name="helper", version="2.0", tags="py3-none-any", stamped=False
    )
    place = wheel(tmp_path, {"demo_kernels/__init__.py": "import helper\n"}, requires=["helper==2.0"])
    offline = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(dependency.parent)}
    assert smoke_wheel(place, environ=offline).import_.outcome == "passed"


def test_a_requirement_that_cannot_be_had_fails_with_pips_own_words(tmp_path):
    place = wheel(tmp_path, requires=["no-such-helper==2.0"])
    record = smoke_wheel(place, environ={**os.environ, "PIP_NO_INDEX": "1"})
    assert record.import_.outcome == "failed"
    assert "No matching distribution found for no-such-helper==2.0" in record.import_.detail


def test_a_checkout_nearby_is_not_what_is_imported(tmp_path, monkeypatch):
    (tmp_path / "demo_kernels").mkdir()
    (tmp_path / "demo_kernels" / "__init__.py").write_text("raise SystemExit('the checkout was imported')")
    monkeypatch.chdir(tmp_path)
    record = smoke_wheel(wheel(tmp_path), environ={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert record.import_.outcome == "passed"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import os; os.abort()", "was killed by SIGABRT"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("1 / 0", "ZeroDivisionError"),
        ("__version__ = '2.0'", "__version__ is 2.0, but METADATA has 1.0+cu130.sm9x"),
    ],
)
def test_an_import_that_goes_wrong_fails_with_the_reason(tmp_path, source, said):
    record = smoke_wheel(wheel(tmp_path, {"demo_kernels/__init__.py": source}))
    assert record.import_.outcome == "failed"
    assert said in record.import_.detail


def test_what_a_module_prints_does_not_disturb_the_report(tmp_path):
    noisy = "import os; print('{'); os.write(1, b'}')\n"
    assert smoke_wheel(wheel(tmp_path, {"demo_kernels/__init__.py": noisy})).import_.outcome == "passed"


def test_a_library_that_nothing_brings_fails(tmp_path, cc):
    files = GOOD | {"demo_kernels/kernels.so": needing(cc, tmp_path, "libnowhere.so.3")}
    check = smoke_wheel(wheel(tmp_path, files)).import_
    assert check.outcome == "failed"
    assert "demo_kernels/kernels.so needs libnowhere.so.3" in check.detail


def test_a_missing_driver_alone_is_tolerated(tmp_path, cc):
    files = GOOD | {"demo_kernels/kernels.so": needing(cc, tmp_path, "libcuda.so.1")}
    assert smoke_wheel(wheel(tmp_path, files)).import_.outcome == "passed"


def test_a_library_beside_the_module_is_found_by_its_run_path(tmp_path, cc):
    other = library(cc, tmp_path, "libbeside.so.1")
    made = library(
        cc, tmp_path, "kernels.so", "int f(void); int g(void) { return f(); }", str(other), "-Wl,-rpath,$ORIGIN"
    )
    files = GOOD | {"demo_kernels/kernels.so": made.read_bytes(), "demo_kernels/libbeside.so.1": other.read_bytes()}
    check = smoke_wheel(wheel(tmp_path, files)).import_
    assert check.outcome == "passed"
    assert "2 libraries resolved" in check.detail


def test_a_library_that_only_this_machine_has_fails(tmp_path, cc):
    toolkit = tmp_path / "toolkit" / "lib64"
    toolkit.mkdir(parents=True)
    made = needing(cc, tmp_path, "libhere.so.1", f"-Wl,-rpath,{toolkit}")
    library(cc, toolkit, "libhere.so.1")
    check = smoke_wheel(wheel(tmp_path, GOOD | {"demo_kernels/kernels.so": made})).import_
    assert check.outcome == "failed"
    assert "which only this machine provides" in check.detail


def test_a_symbol_version_that_the_library_lacks_fails(tmp_path, cc):
    script = tmp_path / "versions"
    script.write_text("DEMO_2 { global: f; };")
    other = library(cc, tmp_path, "libbeside.so.1", "int f(void) { return 1; }", f"-Wl,--version-script={script}")
    made = library(
        cc, tmp_path, "kernels.so", "int f(void); int g(void) { return f(); }", str(other), "-Wl,-rpath,$ORIGIN"
    )
    script.write_text("DEMO_1 { global: f; };")
    other = library(cc, tmp_path, "libbeside.so.1", "int f(void) { return 1; }", f"-Wl,--version-script={script}")
    files = GOOD | {"demo_kernels/kernels.so": made.read_bytes(), "demo_kernels/libbeside.so.1": other.read_bytes()}
    check = smoke_wheel(wheel(tmp_path, files)).import_
    assert check.outcome == "failed"
    assert "DEMO_2" in check.detail


def test_a_wheel_for_another_cpu_is_skipped_with_the_reason(tmp_path):
    other = "aarch64" if MACHINE != "aarch64" else "x86_64"
    record = smoke_wheel(wheel(tmp_path, tags=f"cp39-abi3-manylinux_2_17_{other}"), gpu=True)
    assert record.import_.outcome == record.gpu.outcome == "skipped"
    assert f"the wheel is for {other}, but this machine is {MACHINE}" in record.import_.detail
    assert record.passed


def test_a_placeholder_is_imported_and_says_what_it_is(tmp_path):
    name = f"demo_kernels-{FULL}-{LINUX}.whl"
    place = write_placeholder(tmp_path, name, embedded=stamp(), size=1 << 16, import_name="demo_kernels")
    record = smoke_wheel(place, gpu=True)
    assert record.import_.outcome == "passed"
    assert "placeholder without code" in record.import_.detail
    assert (record.gpu.outcome, record.executed) == ("skipped", [])


def test_a_placeholder_without_a_package_has_nothing_to_import(tmp_path):
    name = f"demo_kernels-{FULL}-{LINUX}.whl"
    record = smoke_wheel(write_placeholder(tmp_path, name, embedded=stamp(), size=1 << 16))
    assert (record.import_.outcome, record.import_.detail) == ("skipped", "no module to import")


def test_the_command_ends_with_5_and_prints_the_record_first(tmp_path, capsys):
    place = wheel(tmp_path, {"demo_kernels/__init__.py": "import numpy\n"})
    assert run(["smoke", str(place), "--json"]) == 5
    shown = capsys.readouterr()
    assert json.loads(shown.out)[0]["import"]["outcome"] == "failed"
    assert "No module named 'numpy'" in shown.err


@pytest.mark.parametrize(
    ("name", "said"), [("demo-1.0-py3-none-any.whl", "wheel not found"), ("demo.whl", "wheel not found")]
)
def test_a_wheel_that_is_not_there_is_a_usage_error(tmp_path, capsys, name, said):
    assert run(["smoke", str(tmp_path / name)]) == 2
    assert said in capsys.readouterr().err


# --- with a stand-in for the driver -----------------------------------------------------------------------------------

_DRIVER = """
#include <string.h>
#include <stdlib.h>
#include <stdint.h>
static int error = 0;
int cuInit(unsigned f) { return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = (void *)8; return 0; }
int cuCtxSetCurrent(void *c) { return 0; }
int cuModuleUnload(void *m) { return 0; }
int cuGetErrorName(int e, const char **n) { *n = "CUDA_ERROR_STAND_IN"; return 0; }
int cuModuleLoadData(void **m, const void *image) {
  if (*(const uint32_t *)image != 0xBA55ED50) return 200;
  if (strcmp(getenv("CUDA_MODULE_LOADING"), "EAGER")) return 999;
  *m = (void *)16;
  return ANSWER;
}
"""
_NVML = """
#include <stdio.h>
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)8; return 0; }
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) { *a = MAJOR; *b = MINOR; return 0; }
int nvmlDeviceGetName(void *d, char *t, unsigned n) { strcpy(t, "Stand-in GPU"); return 0; }
int nvmlDeviceGetUUID(void *d, char *t, unsigned n) { strcpy(t, "GPU-0"); return 0; }
int nvmlSystemGetDriverVersion(char *t, unsigned n) { strcpy(t, "580.1"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *n) { *n = 13000; return 0; }
"""


@pytest.fixture
def driver(tmp_path, cc):
    """Make a driver for one device with one answer to loading; gives the environment in which it is found."""

    def make(capability="9.0", answer=0):
        folder = tmp_path / "driver"
        folder.mkdir()
        major, minor = capability.split(".")
        library(cc, folder, "libcuda.so.1", _DRIVER, f"-DANSWER={answer}")
        library(cc, folder, "libnvidia-ml.so.1", _NVML, f"-DMAJOR={major}", f"-DMINOR={minor}")
        kept = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
        return kept | {"LD_LIBRARY_PATH": str(folder)}

    return make


@pytest.fixture
def coded(tmp_path, cc):
    """A wheel whose library holds one fat binary for 9.0a and one for 12.0f."""

    def fat(arch, flags):
        entry = struct.pack("<HHIQIIHHIIIQQQ", 2, 0x101, 64, 64, 0, 0x40, 0, 0, arch, 0, 0, flags, 0, 0) + bytes(64)
        return struct.pack("<4sHHQ", b"\x50\xed\x55\xba", 1, 16, len(entry)) + entry

    data = ", ".join(map(str, fat(90, 0x100011) + fat(120, 0x200011)))
    source = f'__attribute__((section(".nv_fatbin"), aligned(8), used)) const unsigned char code[] = {{{data}}};'
    made = library(cc, tmp_path, "kernels.so", source).read_bytes()
    return wheel(
        tmp_path, GOOD | {"demo_kernels/kernels.so": made, "demo_kernels/smoke.py": "print('3 kernels agree')"}
    )


def package(*command, requires=(), **env):
    return Package.model_validate(
        {
            "name": "demo-kernels", "import": "demo_kernels", "per": [], "build": {"kind": "tree", "command": ["x"]},
            "smoke": {"command": list(command), "requires": list(requires), "env": env},
        }
    )  # fmt: skip


MODULE = ("{python}", "-m", "demo_kernels.smoke")


def test_on_a_covered_device_kernels_load_and_the_command_runs(coded, driver):
    record = smoke_wheel(coded, gpu=True, package=package(*MODULE), environ=driver())
    assert (record.gpu.outcome, record.gpu.detail) == ("passed", "fat binaries loaded: 1; 3 kernels agree")
    assert (dotted(record.executed), dotted(record.not_executed)) == ("9.0", "8.0")
    assert (record.device.name, record.device.driver) == ("Stand-in GPU", "580.1")


def test_a_device_that_the_wheel_does_not_cover_fails_clearly(coded, driver):
    record = smoke_wheel(coded, gpu=True, package=package(*MODULE), environ=driver("12.0"))
    assert record.gpu.outcome == "failed"
    assert (
        record.gpu.detail == "the wheel does not cover the GPU of this machine: Stand-in GPU (12.0); it covers 8.0, 9.0"
    )
    assert record.executed == []


@pytest.mark.parametrize(("answer", "said"), [(209, "without code for this device"), (200, "error 200 (CUDA_ERROR")])
def test_kernels_that_do_not_load_fail(coded, driver, answer, said):
    record = smoke_wheel(coded, gpu=True, package=package(*MODULE), environ=driver(answer=answer))
    assert record.gpu.outcome == "failed"
    assert said in record.gpu.detail


def test_a_smoke_command_that_fails_is_shown_with_its_last_words(coded, driver):
    failing = package("{python}", "-c", "raise SystemExit('rms_norm is off by 3.0')")
    record = smoke_wheel(coded, gpu=True, package=failing, environ=driver())
    assert record.gpu.outcome == "failed"
    assert "rms_norm is off by 3.0" in record.gpu.detail
    assert record.executed == []


def test_the_smoke_command_has_its_requirements_and_variables_and_no_secrets(tmp_path, coded, driver):
    helper = wheel(tmp_path, {"helper.py": ""}, name="helper", version="2.0", tags="py3-none-any", stamped=False)
    asked = "import helper, os; assert os.environ['MODE'] == 'no jit' and 'TOKEN' not in os.environ; print('fine')"
    environ = driver() | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(helper.parent), "TOKEN": "hush"}
    command = package("{python}", "-c", asked, requires=["helper>={version}"], MODE="no jit")
    record = smoke_wheel(coded, gpu=True, package=command, environ=environ)
    assert record.gpu.outcome == "passed", record.gpu.detail


def test_without_a_smoke_command_nothing_counts_as_executed(coded, driver):
    record = smoke_wheel(coded, gpu=True, environ=driver())
    assert (record.gpu.outcome, record.executed, record.fat_binaries) == ("skipped", [], 1)


def test_a_failed_import_leaves_the_gpu_unproven(tmp_path, driver):
    record = smoke_wheel(wheel(tmp_path, {"demo_kernels/__init__.py": "1 / 0"}), gpu=True, environ=driver())
    assert (record.import_.outcome, record.gpu.outcome) == ("failed", "skipped")


def _has_gpu():
    script = Path(__file__).resolve().parents[2] / "scripts" / "install_wheel.py"
    command = [sys.executable, "-I", str(script), "--detect", "--json"]
    return bool(json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["gpus"])


def test_asking_for_a_gpu_where_there_is_none_ends_with_5(tmp_path, capsys):
    if _has_gpu():
        pytest.skip("there is a GPU here")
    place = wheel(tmp_path)
    assert run(["smoke", str(place), "--gpu"]) == 5
    assert "no NVIDIA GPU found on this machine" in capsys.readouterr().err
    assert SmokeRecord.read(place.with_name(f"{place.name}.smoke.json")).gpu.outcome == "skipped"


def test_wheels_of_the_set_are_found_beside_the_one_that_requires_them(tmp_path):
    (tmp_path / "wheels").mkdir()
    wheel(tmp_path, {"demo_base/__init__.py": "x = 1\n"}, name="demo-base", tags="py3-none-any", stamped=False)
    files = {"demo_kernels/__init__.py": f"import demo_base\n__version__ = '{FULL}'\n"}
    needy = wheel(tmp_path, files, requires=[f"demo-base=={FULL}"])
    assert smoke_wheel(needy, environ=dict(os.environ) | {"PIP_NO_INDEX": "1"}).import_.outcome == "passed"


def shim_cell():
    return Cell(
        id="cu130-shim", package="demo-kernels", version="1.0", cuda="cu130", toolkit="13.0", arch=None, family=None,
        local_version="cu130.sm9x", wheel="demo", artifact="demo", image=None, runner=None, smoke=None, shim=True,
    )  # fmt: skip


def test_a_shim_is_tried_by_itself_since_its_providers_may_be_elsewhere(tmp_path):
    (tmp_path / "wheels").mkdir()
    needs = ["demo-kernels-sm90a==1.0"]
    alone = wheel(tmp_path, requires=needs, tags="py3-none-any", stamped=False)
    record = smoke_wheel(alone, cell=shim_cell(), environ=dict(os.environ) | {"PIP_NO_INDEX": "1"})
    assert record.import_.outcome == "passed"
    assert smoke_wheel(alone, environ=dict(os.environ) | {"PIP_NO_INDEX": "1"}).import_.outcome == "failed"


def test_a_provider_is_imported_under_its_own_name(tmp_path):
    (tmp_path / "wheels").mkdir()
    files = {"demo_kernels_sm90a/__init__.py": f"version = __version__ = '{FULL}'\n"}
    provider = wheel(tmp_path, files, name="demo-kernels-sm90a", stamped=False)
    build = {"kind": "tree", "command": ["x"]}
    about = {"name": "demo-kernels", "import": "demo_kernels", "per": ["cuda", "arch"], "layout": "provider"}
    package = Package.model_validate(about | {"build": build})
    record = smoke_wheel(provider, package=package)
    assert (record.import_.outcome, record.modules) == ("passed", ["demo_kernels_sm90a"])
