"""examples/minikernels without a GPU: references, arguments, messages, and build.py up to the compiler."""

import cmath
import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

np = pytest.importorskip("numpy")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "minikernels"


@pytest.fixture
def load(monkeypatch):
    """Imports the example's modules, and forgets them afterwards."""
    monkeypatch.syspath_prepend(EXAMPLE)
    yield importlib.import_module
    for name in [name for name in sys.modules if name.split(".")[0] in {"minikernels", "build"}]:
        del sys.modules[name]


@pytest.fixture
def kernels(load):
    return load("minikernels")


@pytest.fixture
def reference(load):
    return load("minikernels.reference")


@pytest.fixture
def build():
    spec = importlib.util.spec_from_file_location("minikernels_build", EXAMPLE / "build.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["minikernels_build"] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    yield module
    del sys.modules["minikernels_build"]


def run(*arguments, path=EXAMPLE, **environment):
    kept = {name: value for name, value in os.environ.items() if name not in {"CUDA_HOME", "CXX", "NVCC_CCBIN"}}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=kept | {"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def normal(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


# The references against the formulas, written out number by number.


def test_the_reference_of_rms_norm_is_the_formula(reference):
    x, weight = normal(3, 5), normal(5)
    got = reference.rms_norm(x, weight, eps=0.25)
    for row in range(3):
        root = math.sqrt(math.fsum(float(v) ** 2 for v in x[row]) / 5 + 0.25)
        assert got[row] == pytest.approx([float(v) / root * float(w) for v, w in zip(x[row], weight, strict=True)])


def test_the_reference_of_silu_and_mul_is_the_formula(reference):
    x = normal(2, 3, 8)
    got = reference.silu_and_mul(x)
    assert got.shape == (2, 3, 4)
    for place in np.ndindex(2, 3, 4):
        gate, up = float(x[place]), float(x[*place[:2], place[2] + 4])
        assert got[place] == pytest.approx(gate / (1 + math.exp(-gate)) * up)


def test_the_reference_of_silu_and_mul_is_zero_far_below_zero(reference):
    assert reference.silu_and_mul(np.array([-1e4, 1.0], np.float32)) == 0


@pytest.mark.parametrize("interleaved", [False, True])
def test_the_reference_of_rotary_embedding_turns_complex_numbers(reference, interleaved):
    x, positions = normal(3, 2, 8), [0, 5, -70000]
    got = reference.rotary_embedding(x, positions, base=500.0, interleaved=interleaved)
    for token, head, i in np.ndindex(3, 2, 4):
        first, second = (2 * i, 2 * i + 1) if interleaved else (i, i + 4)
        pair = complex(x[token, head, first], x[token, head, second])
        turned = pair * cmath.exp(1j * positions[token] * 500.0 ** (-2 * i / 8))
        assert complex(got[token, head, first], got[token, head, second]) == pytest.approx(turned)


def test_the_reference_of_softmax_is_the_formula(reference):
    x = normal(4, 6)
    got = reference.softmax(x)
    for row in range(4):
        total = math.fsum(math.exp(v) for v in x[row])
        assert got[row] == pytest.approx([math.exp(v) / total for v in x[row]])


def test_the_reference_of_softmax_survives_large_and_infinite_inputs(reference):
    got = reference.softmax(np.array([[3e38, 3e38, -3e38, -np.inf], [-np.inf] * 4, [np.nan, 0, 0, 0]], np.float32))
    assert got[0].tolist() == [0.5, 0.5, 0.0, 0.0]
    assert np.isnan(got[1:]).all()


# Arguments. The sources hold no compiled module, so whatever reached one would end in another error.


def f32(*shape):
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda mk: mk.softmax(np.zeros((2, 2))), TypeError, "float64, not float32 or float16"),
        (lambda mk: mk.softmax(np.zeros((2, 2), ">f4")), TypeError, "not float32"),
        (lambda mk: mk.softmax(np.float32(1)), ValueError, "last axis"),
        (lambda mk: mk.softmax(f32(3, 0)), ValueError, "last axis"),
        (lambda mk: mk.silu_and_mul(f32(2, 3)), ValueError, "cannot be halved"),
        (lambda mk: mk.silu_and_mul([[1, 2]]), TypeError, "int64"),
        (lambda mk: mk.rms_norm(f32(2, 4), f32(3)), ValueError, r"shape \(3,\).*4 elements"),
        (lambda mk: mk.rms_norm(f32(2, 4), f32(1, 4)), ValueError, "shape"),
        (lambda mk: mk.rms_norm(f32(2, 4), np.zeros(4, np.float16)), TypeError, "weight is float16"),
        (lambda mk: mk.rms_norm(f32(2, 4), f32(4), eps=-1.0), ValueError, "eps"),
        (lambda mk: mk.rms_norm(f32(2, 4), f32(4), eps=math.nan), ValueError, "eps"),
        (lambda mk: mk.rotary_embedding(f32(2, 4), [0, 1]), ValueError, "tokens, heads, d"),
        (lambda mk: mk.rotary_embedding(f32(2, 1, 5), [0, 1]), ValueError, "even"),
        (lambda mk: mk.rotary_embedding(f32(2, 1, 4098), [0, 1]), ValueError, "4096"),
        (lambda mk: mk.rotary_embedding(f32(2, 1, 4), [0]), ValueError, "2 tokens"),
        (lambda mk: mk.rotary_embedding(f32(2, 1, 4), [0.0, 1.0]), TypeError, "not integers"),
        (lambda mk: mk.rotary_embedding(f32(2, 1, 4), [0, 2**31]), ValueError, "32 bits"),
        (lambda mk: mk.rotary_embedding(f32(1, 1, 4), np.array([2**64 - 1], np.uint64)), ValueError, "32 bits"),
        (lambda mk: mk.rotary_embedding(f32(2, 1, 4), [0, 1], base=0), ValueError, "base"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_before_the_gpu(kernels, call, error, words):
    with pytest.raises(error, match=words):
        call(kernels)


def test_no_elements_need_no_gpu(kernels):
    assert kernels.softmax(f32(0, 4)).shape == (0, 4)
    assert kernels.silu_and_mul(f32(2, 0, 6)).shape == (2, 0, 3)
    assert kernels.rms_norm(f32(0, 4), f32(4)).shape == (0, 4)
    assert kernels.rotary_embedding(f32(0, 2, 4), np.zeros(0, np.int64)).shape == (0, 2, 4)


# Import, and what a call says when it cannot compute.


def test_importing_loads_no_library_and_needs_no_gpu():
    code = (
        "import ctypes; ctypes.CDLL = None\n"
        "import minikernels, minikernels.smoke, minikernels.native\n"
        "print(minikernels.__version__)"
    )
    answer = run("-W", "error", "-c", code)
    assert (answer.returncode, answer.stdout.strip()) == (0, "0+source"), answer.stderr


def test_a_package_without_compiled_modules_says_so(kernels):
    with pytest.raises(kernels.MinikernelsError, match=r"cannot load module runtime.*was not compiled"):
        kernels.softmax(f32(1, 1))


def answering(monkeypatch, load, code, *, built_for=("8.0 12.0f", "12.0 12.1")):
    """The error that a call ends with when CUDA answers ``code`` on an H200."""
    native = load("minikernels.native")
    library = SimpleNamespace(
        mk_softmax=lambda: code, mk_error_name=lambda _: b"cudaErrorName", mk_error_text=lambda _: b"what CUDA says"
    )
    monkeypatch.setattr(native, "module", lambda _: library)
    monkeypatch.setattr(native, "device", lambda: ("NVIDIA H200", "9.0"))
    monkeypatch.setattr(native, "built_for", lambda: built_for)
    with pytest.raises(RuntimeError) as caught:
        native.call("softmax", "mk_softmax")
    assert caught.value.code == code
    return caught.value


@pytest.mark.parametrize("code", [98, 209])
def test_a_wheel_for_other_gpus_names_the_device_and_what_it_was_built_for(monkeypatch, load, kernels, code):
    error = answering(monkeypatch, load, code)
    assert isinstance(error, kernels.NoMachineCode)
    for words in (
        "softmax:",
        "NVIDIA H200, compute capability 9.0",
        "compiled for 8.0 12.0f",
        "12.0 or 12.1",
        f"CUDA error {code}",
    ):
        assert words in str(error)


def test_a_wheel_that_does_not_know_its_targets_still_names_the_device(monkeypatch, load):
    error = answering(monkeypatch, load, 209, built_for=("", ""))
    assert "compute capability 9.0" in str(error)
    assert "what CUDA says" in str(error)


@pytest.mark.parametrize("code", [35, 100])
def test_a_machine_without_driver_or_gpu_is_told_apart(monkeypatch, load, kernels, code):
    assert isinstance(answering(monkeypatch, load, code), kernels.NoDevice)


def test_any_other_answer_of_cuda_is_an_error_too(monkeypatch, load, kernels):
    error = answering(monkeypatch, load, 700)
    assert type(error) is kernels.MinikernelsError
    assert str(error) == "softmax: CUDA error 700, cudaErrorName: what CUDA says"


@pytest.mark.parametrize(
    ("stamped", "shown"),
    [("0.1.0+cu130.sm12x", "('8.0 12.0f', '12.0 12.1')"), ("0.0.9+cu130.sm9x", "('8.0 12.0f', '')")],
    ids=["own", "of another copy"],
)
def test_what_a_wheel_was_built_for_comes_from_its_own_stamp(tmp_path, stamped, shown):
    shutil.copytree(EXAMPLE / "minikernels", tmp_path / "minikernels")
    version = '__version__ = "0.1.0+cu130.sm12x"\ntargets = "8.0 12.0f"\n'
    (tmp_path / "minikernels" / "_version.py").write_text(version)
    info = tmp_path / "minikernels-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: minikernels\nVersion: {stamped}\n")
    stamp = {"version": stamped, "targets": ["8.0", "12.0f"], "covers": ["12.0", "12.1"]}
    (info / "fatwheel.json").write_text(json.dumps(stamp))
    answer = run("-c", "from minikernels import native; print(native.built_for())", path=tmp_path)
    assert answer.stdout.strip() == shown, answer.stderr


# The smoke command.


def test_smoke_without_a_result_fails_and_says_why():
    answer = run("-m", "minikernels.smoke", "--json")
    said = json.loads(answer.stdout)
    assert answer.returncode == 1
    assert (said["ok"], said["device"], said["kernels"]) == (False, None, [])
    assert "not compiled" in said["error"]
    assert "failed" in run("-m", "minikernels.smoke").stdout


@pytest.mark.parametrize(
    ("wrong", "status"),
    [(None, 0), ("small", 1), ("shape", 1), ("nan", 1), ("dtype", 1)],
)
def test_smoke_passes_what_agrees_with_the_reference_and_nothing_else(monkeypatch, load, capsys, wrong, status):
    smoke, native, reference = load("minikernels.smoke"), load("minikernels.native"), load("minikernels.reference")
    package = load("minikernels")
    monkeypatch.setattr(native, "device", lambda: ("a GPU", "9.0"))
    monkeypatch.setattr(native, "probe", lambda: None)

    def spoil(result, name):
        if wrong is None or name != "softmax":
            return result
        return {
            "small": result + result.dtype.type(0.01),
            "shape": result[:-1],
            "nan": np.full_like(result, np.nan),
            "dtype": result.astype(np.float64),
        }[wrong]

    for name in ("rms_norm", "silu_and_mul", "rotary_embedding", "softmax"):

        def computed(x, *rest, name=name, **keywords):
            return spoil(getattr(reference, name)(x, *rest, **keywords).astype(x.dtype), name)

        monkeypatch.setattr(package, name, computed)
    assert smoke.main(["--json"]) == status
    said = json.loads(capsys.readouterr().out)
    assert [kernel["ok"] for kernel in said["kernels"]] == [
        name["name"] != "softmax" or status == 0 for name in said["kernels"]
    ]
    assert {kernel["name"] for kernel in said["kernels"]} == {"rms_norm", "silu_and_mul", "rotary_embedding", "softmax"}


# build.py, up to the compiler.


def build_py(tmp_path, *arguments, targets="9.0a", **environment):
    return run(
        EXAMPLE / "build.py", "--out", tmp_path / "out", "--targets", targets, "--version", "1.0", *arguments,
        **environment,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("target", "flag"),
    [
        ("9.0a", "-gencode=arch=compute_90a,code=sm_90a"),
        ("12.0f", "-gencode=arch=compute_120f,code=sm_120f"),
        ("8.0+PTX", "-gencode=arch=compute_80,code=[compute_80,sm_80]"),
    ],
)
def test_targets_become_what_nvcc_reads(build, target, flag):
    assert build.gencode(target) == flag


def test_the_targets_are_written_as_fatwheel_writes_them_for_nvcc(build):
    from fatwheel.targets import parse_targets, render

    targets = parse_targets("7.5 8.0 9.0a 10.3a 12.0f 12.0+PTX")
    assert " ".join(build.gencode(str(target)) for target in targets) == render(targets, "nvcc")


@pytest.mark.parametrize("text", ["90a", "9.0A", "sm_90", "9.0;10.0"])
def test_a_target_in_another_spelling_is_refused(tmp_path, text):
    answer = build_py(tmp_path, targets=text, CUDA_HOME="/nowhere")
    assert answer.returncode == 1
    assert f"invalid GPU target '{text}'" in answer.stderr


def test_no_target_at_all_is_refused(tmp_path):
    answer = build_py(tmp_path, targets=" ", CUDA_HOME="/nowhere")
    assert (answer.returncode, "no target" in answer.stderr) == (1, True)


def test_without_cuda_home_the_message_says_to_set_it(tmp_path):
    answer = build_py(tmp_path)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr == "build.py: CUDA_HOME is not set; set it to a CUDA toolkit, for example /usr/local/cuda\n"
    assert not (tmp_path / "out").exists()


def test_a_cuda_home_without_nvcc_is_named(tmp_path):
    answer = build_py(tmp_path, CUDA_HOME=str(tmp_path))
    assert answer.returncode == 1
    assert f"{tmp_path}/bin/nvcc not found" in answer.stderr


def test_a_missing_host_compiler_is_named(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvcc").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "nvcc").chmod(0o755)
    answer = build_py(tmp_path, CUDA_HOME=str(tmp_path), CXX="no-such-compiler")
    assert answer.returncode == 1
    assert "host compiler no-such-compiler" in answer.stderr


@pytest.mark.parametrize("arguments", [["--jobs", "0"], ["--only", "softmax,attention"], ["--arch", "riscv64"]])
def test_arguments_that_build_py_does_not_know_end_with_its_usage(tmp_path, arguments):
    answer = build_py(tmp_path, *arguments)
    assert answer.returncode == 2
    assert "usage:" in answer.stderr


def test_every_module_of_the_package_has_a_source(build, load):
    assert set(build.MODULES) == set(load("minikernels.native")._FUNCTIONS)


def test_modules_are_named_in_one_list_and_none_means_all(build, tmp_path):
    def only(text):
        return build.parse(["--out", str(tmp_path), "--targets", "9.0a", "--version", "1", "--only", text]).only

    assert only("softmax,rms_norm") == ["softmax", "rms_norm"]
    assert only("") == []


def test_a_folder_of_compilers_holds_gpp(build, tmp_path):
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    assert build.find_host_compiler({"NVCC_CCBIN": str(tmp_path), "PATH": ""}, "aarch64") == str(compiler)


def test_the_declaration_holds_together_and_begins_with_cuda_13_on_x86_64():
    from fatwheel.declaration import load
    from fatwheel.plan import make_plan

    plan = make_plan(load(EXAMPLE / "matrix.yaml"))
    assert [cell.id for cell in plan.cells][:3] == ["cu130-x86_64-sm9x", "cu130-x86_64-sm10x", "cu130-x86_64-sm12x"]
    assert plan.tag == "minikernels-v0.1.0"
