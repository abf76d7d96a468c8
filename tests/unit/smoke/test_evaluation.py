"""What an import report means, what is imported, which Python tries a wheel, and what stays of earlier records."""

import sys
from pathlib import Path

import pytest

from fatwheel.declaration.templates import SMOKE_FIELDS
from fatwheel.processes import Answer, run
from fatwheel.records.smoke import Check, Device, SmokeRecord
from fatwheel.smoke.gpu import _detect_devices, smoke_fields
from fatwheel.smoke.imports import evaluate_imports
from fatwheel.smoke.interpreter import find_python
from fatwheel.smoke.smoke_wheel import merge
from fatwheel.smoke.subject import Subject, top_levels
from fatwheel.targets import dotted
from fatwheel.wheels.formats.wheel_name import WheelName
from tests.unit.building.samples import cell

WHEEL = "demo_kernels-1.0+cu130.sm9x-cp39-abi3-manylinux_2_28_x86_64.whl"


def subject(*modules, **about):
    name = WheelName.parse(WHEEL)
    return Subject(Path(WHEEL), name, modules or ("demo_kernels",), **about)


def report(*, needed=None, complaints=(), modules=None, **more):
    module = {"name": "demo_kernels", "error": None, "version": "1.0+cu130.sm9x", "file": None}
    return {
        "python": "3.11.7", "prefix": "/tmp/env", "version": "1.0+cu130.sm9x", "modules": modules or [module],
        "libraries": {"demo_kernels/k.so": {"needed": needed or {}, "complaints": list(complaints)}},
        "homes": {}, "loaded": [], "unresolved_libraries": 0, **more,
    }  # fmt: skip


def module(**about):
    return {"name": "demo_kernels", "error": None, "version": None, "file": None, **about}


@pytest.mark.parametrize(
    "needed",
    [
        {},
        {"libc.so.6": "/usr/lib/x86_64-linux-gnu/libc.so.6"},
        {"libcuda.so.1": None},
        {"libcuda.so.1": "/usr/local/nvidia/lib64/libcuda.so.580.1"},
        {"libcudart.so.13": "/tmp/env/lib/python3.11/site-packages/nvidia/cu13/lib/libcudart.so.13"},
    ],
)
def test_libraries_from_the_system_the_driver_and_the_environment_will_do(needed):
    assert evaluate_imports(report(needed=needed), subject()).outcome == "passed"


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        (
            {"libfoo.so.1": None},
            "demo_kernels/k.so needs libfoo.so.1, which neither the wheel nor its dependencies provide",
        ),
        ({"libcudart.so.13": "/usr/lib/x86_64-linux-gnu/libcudart.so.13"}, "which only this machine provides"),
        ({"libfoo.so.1": "/usr/local/cuda-13.0/lib64/libfoo.so.1"}, "which only this machine provides"),
        ({"libcuda.so.2": None}, "libcuda.so.2"),
    ],
)
def test_a_library_that_users_would_lack_fails(needed, said):
    check = evaluate_imports(report(needed=needed), subject())
    assert check.outcome == "failed"
    assert said in check.detail


@pytest.mark.parametrize("path", [None, "/usr/local/cuda/lib64/libcudart.so.13"])
def test_a_library_that_the_loading_package_brings_is_tolerated_and_said(path):
    check = evaluate_imports(report(needed={"libcudart.so.13": path}), subject(provided=("libcudart.so.*",)))
    assert check.outcome == "passed"
    assert "libcudart.so.13 is declared as `provided`" in check.detail


def test_a_library_that_the_import_itself_loaded_is_resolved():
    assert evaluate_imports(report(needed={"libfoo.so.1": None}, loaded=["libfoo.so.1"]), subject()).outcome == "passed"


def test_a_library_that_lies_in_a_requirement_is_resolved_and_said():
    check = evaluate_imports(
        report(needed={"libcudart.so.13": None}, homes={"libcudart.so.13": "nvidia/cu13/lib"}), subject()
    )
    assert check.outcome == "passed"
    assert "nvidia/cu13/lib" in check.detail


def test_what_the_loader_complains_of_fails():
    complaint = "/lib/libc.so.6: version `GLIBC_2.99' not found"
    assert evaluate_imports(report(complaints=[complaint]), subject()).detail == f"demo_kernels/k.so: {complaint}"


def test_all_that_is_wrong_is_said_at_once():
    found = report(needed={"libfoo.so.1": None, "libbar.so.2": None}, modules=[module(version="2.0")])
    check = evaluate_imports(found, subject())
    assert check.detail.count(";") == 2


@pytest.mark.parametrize("version", ["1.0+cu130.sm9x", "1.0+CU130.SM9X", "1.0.0+cu130.sm9x", None])
def test_an_equal_version_in_another_spelling_and_none_at_all_will_do(version):
    assert evaluate_imports(report(modules=[module(version=version)]), subject()).outcome == "passed"


def test_a_version_that_lacks_the_label_fails():
    check = evaluate_imports(report(modules=[module(version="1.0")]), subject())
    assert check.detail.startswith("demo_kernels.__version__ is 1.0, but METADATA has 1.0+cu130.sm9x (add the file")


def test_of_several_modules_only_the_one_named_like_the_distribution_must_have_its_version():
    modules = [module(version="1.0+cu130.sm9x"), module(name="vendored", version="0.3")]
    assert evaluate_imports(report(modules=modules), subject("demo_kernels", "vendored")).outcome == "passed"


def test_a_missing_module_is_named_as_not_required():
    error = "ModuleNotFoundError: No module named 'torch.cuda'"
    check = evaluate_imports(report(modules=[module(error=error)]), subject())
    assert "no dependency of the wheel provides torch" in check.detail


@pytest.mark.parametrize(
    ("members", "listed", "modules"),
    [
        (["demo/__init__.py", "demo-1.0.dist-info/METADATA"], [], ("demo",)),
        (["demo/__init__.py", "_demo_c.abi3.so"], [], ("demo",)),
        (["_demo_c.abi3.so"], [], ("_demo_c",)),
        (["one.py", "two/lib.so", "three/data.bin"], [], ("one", "two")),
        (["one.py", "two/__init__.py"], ["two", "gone"], ("two",)),
        (["demo.libs/libz.so", "demo/__init__.py"], [], ("demo",)),
        (["demo-1.0.data/purelib/demo/__init__.py", "demo-1.0.data/scripts/run.py"], [], ("demo",)),
        (["demo-1.0.dist-info/METADATA"], [], ()),
    ],
)
def test_the_modules_at_the_top_are_imported(members, listed, modules):
    assert top_levels(members, listed) == modules


def _name(tags):
    return WheelName.parse(f"demo-1.0-{tags}.whl")


def test_a_wheel_for_this_python_is_tried_with_it():
    assert find_python(_name("py3-none-any")) == (sys.executable, "")


@pytest.mark.parametrize(
    ("tags", "reason"),
    [
        ("py3-none-manylinux_2_28_riscv64", "the wheel is for riscv64, but this machine is"),
        ("py3-none-manylinux_2_99_{machine}", "the wheel needs glibc 2.99, but this machine has"),
        ("py3-none-win_amd64", "the wheel is for win_amd64, but this machine is linux_"),
        ("cp31-cp31-manylinux_2_17_{machine}", "the wheel needs Python 3.1, which is not on PATH"),
    ],
)
def test_a_wheel_that_nothing_here_takes_has_a_reason(tags, reason):
    import platform

    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        pytest.skip("the reasons are those of a Linux machine with glibc")
    python, said = find_python(_name(tags.format(machine=platform.machine())))
    assert python is None
    assert said.startswith(reason)


def _record(outcome="passed", gpu=None, sha256="a" * 64):
    return SmokeRecord(
        wheel=WHEEL, sha256=sha256, import_=Check(outcome=outcome), gpu=Check(outcome=gpu) if gpu else None,
        device=Device(name="H200", capability="9.0") if gpu else None, executed=["9.0"] if gpu == "passed" else [],
        not_executed=[] if gpu == "passed" else ["9.0"],
    )  # fmt: skip


def test_a_proof_on_a_gpu_outlives_a_later_import_test_of_the_same_bytes():
    kept = merge(_record(), _record(gpu="passed"))
    assert (kept.gpu.outcome, dotted(kept.executed), kept.not_executed) == ("passed", "9.0", [])


def test_an_import_that_another_machine_tried_outlives_a_skip_here():
    assert merge(_record("skipped", gpu="passed"), _record("failed")).import_.outcome == "failed"


def test_nothing_outlives_other_bytes():
    assert merge(_record(), _record(gpu="passed", sha256="b" * 64)).gpu is None


def test_a_new_proof_replaces_an_old_one():
    assert merge(_record(gpu="failed"), _record(gpu="passed")).gpu.outcome == "failed"


def test_the_record_says_import_in_json_and_is_read_again(tmp_path):
    record = _record(gpu="passed")
    record.write(tmp_path / "x.json")
    assert '"import": {' in (tmp_path / "x.json").read_text()
    assert SmokeRecord.read(tmp_path / "x.json") == record


def test_a_command_that_outlives_its_time_is_ended_with_its_children(tmp_path):
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    answer = run([sys.executable, "-c", script], env={}, cwd=tmp_path, timeout=1)
    assert answer.status is None
    assert answer.ended == "timed out"


@pytest.mark.parametrize(
    ("status", "said"), [(3, "exited with code 3"), (-11, "was killed by SIGSEGV"), (-99, "was killed by signal 99")]
)
def test_an_ending_is_said_in_words(status, said):
    assert Answer(status, "", "").ended == said


def test_a_command_that_is_not_there_is_an_answer_and_no_crash(tmp_path):
    answer = run([tmp_path / "nothing"], env={}, cwd=tmp_path, timeout=1)
    assert answer.status == 127
    assert "cannot start" in answer.tail


def test_a_device_is_picked_by_uuid_else_by_its_place_among_the_visible(tmp_path, monkeypatch):
    class Here:
        work = tmp_path

    gpus = [{"capability": "8.0", "name": "A", "uuid": "GPU-1"}, {"capability": "9.0", "name": "B", "uuid": ""}]
    answer = Answer(0, f'{{"gpus": {gpus}, "driver": null}}'.replace("'", '"'), "")
    monkeypatch.setattr("fatwheel.smoke.gpu.run", lambda *_, **__: answer)
    assert [one.setting for one in _detect_devices(Here(), {"CUDA_VISIBLE_DEVICES": "5,3"})] == ["GPU-1", "3"]
    assert [one.setting for one in _detect_devices(Here(), {})] == ["GPU-1", "1"]


def test_what_check_allows_in_a_smoke_command_is_what_smoke_gives():
    assert smoke_fields("python", subject(cell=cell())).keys() == SMOKE_FIELDS
    assert smoke_fields("python", subject()).keys() < SMOKE_FIELDS


@pytest.mark.parametrize(
    ("imported", "executed", "said"),
    [("passed", [], "import"), ("passed", ["9.0"], "GPU 9.0"), ("skipped", [], "skipped"), ("failed", [], "failed")],
)
def test_nothing_is_called_proven_that_was_not_run(imported, executed, said):
    record = SmokeRecord.model_validate(
        {"wheel": "x.whl", "sha256": "0" * 64, "import": {"outcome": imported, "detail": ""}, "executed": executed}
    )
    assert record.proven == said
