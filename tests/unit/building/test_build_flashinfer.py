"""The script that compiles FlashInfer: how modules are chosen and left out, and how ninja's output is told."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "build_flashinfer.py"


def _load():
    spec = importlib.util.spec_from_file_location("build_flashinfer", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = _load()


def spec(name, *flags, sources=("a.cu",)):
    return SimpleNamespace(name=name, extra_cuda_cflags=list(flags), sources=list(sources))


def offered(**modules):
    """A selection: for each name a spec or an exception, and whether FlashInfer chooses it."""
    found = []
    for name, answer in modules.items():

        def generator(answer=answer):
            if isinstance(answer, Exception):
                raise answer
            return answer

        generator.__name__ = f"gen_{name}_module"
        found.append(tool.Deferred(generator, (), {}))
    return found


def choose(modules, declared, patterns=(), not_chosen=()):
    deferred = offered(**modules)
    chosen = {m.name for m in deferred if m.plain_name not in not_chosen}
    chosen_for = {m.name: ["10.0", "10.3"] for m in deferred if m.plain_name in not_chosen}
    return deferred, tool.Selection(deferred, chosen, chosen_for), list(patterns), declared.split()


@pytest.fixture
def named(monkeypatch):
    """The names that the child process would find."""
    monkeypatch.setattr(tool, "list_names", lambda modules, _: [[m.plain_name] for m in modules])


@pytest.mark.usefixtures("named")
def test_modules_without_a_target_are_left_out_with_their_reasons():
    modules = {
        "page": spec("page"),
        "mla": spec("mla"),
        "bgmv": tool.NoTarget("No supported CUDA architectures found for major versions [9, 10]."),
        "fa3": spec("fa3", "-gencode=arch=compute_90a,code=sm_90a", "-O3"),
        "fp4": spec("fp4", "-gencode=arch=compute_120f,code=sm_120f"),
    }
    _, selection, patterns, declared = choose(modules, "8.0 12.0f", not_chosen=["mla"])
    specs, left_out = tool.choose_specs(selection, patterns, declared)
    assert [s.name for s in specs] == ["page", "fp4"]
    assert left_out == {
        "mla": "FlashInfer selects it for 10.0, 10.3 only, and this wheel contains 8.0 12.0f",
        "bgmv": "No supported CUDA architectures found for major versions [9, 10], and this wheel contains 8.0 12.0f",
        "fa3": "FlashInfer always compiles it for 9.0a, and this wheel contains 8.0 12.0f",
    }


@pytest.mark.usefixtures("named")
def test_a_module_that_has_two_forms_is_left_out_only_if_both_are():
    forms = [
        spec("tgv", "-gencode=arch=compute_100a,code=sm_100a"),
        spec("tgv", "-gencode=arch=compute_100f,code=sm_100f"),
    ]
    deferred, selection, patterns, declared = choose({"a": forms[0], "b": forms[1]}, "8.0 10.0a")
    assert tool.choose_specs(selection, patterns, declared) == ([forms[0]], {})
    assert len(deferred) == 2


@pytest.mark.usefixtures("named")
def test_a_slice_holds_what_is_named_and_globs_count():
    modules = {name: spec(name) for name in ("page", "rope", "xqa_1", "xqa_2")}
    _, selection, patterns, declared = choose(modules, "9.0a", ["rope", "xqa_*"])
    assert [s.name for s in tool.choose_specs(selection, patterns, declared)[0]] == ["rope", "xqa_1", "xqa_2"]


@pytest.mark.usefixtures("named")
def test_an_unknown_module_lists_those_that_are_known():
    _, selection, patterns, declared = choose({"page": spec("page"), "rope": spec("rope")}, "9.0a", ["pagee", "rope"])
    with pytest.raises(tool.BuildFailure) as caught:
        tool.choose_specs(selection, patterns, declared)
    lines = str(caught.value).splitlines()
    assert lines == [
        "FlashInfer has these 2 modules:", "  page", "  rope", "unknown module 'pagee'; did you mean page?",
    ]  # fmt: skip


@pytest.mark.usefixtures("named")
def test_a_module_that_cannot_be_prepared_ends_the_build():
    _, selection, patterns, declared = choose({"moe": AssertionError("Failed to get checksums.txt")}, "10.0a")
    with pytest.raises(tool.BuildFailure, match="cannot prepare moe: AssertionError: Failed to get checksums"):
        tool.choose_specs(selection, patterns, declared)


def test_targets_are_read_from_a_modules_own_flags():
    flags = [f"-gencode=arch=compute_{t},code=sm_{t}" for t in ("100a", "80", "121f")]
    assert tool.read_targets(spec("x", *flags)) == ["8.0", "10.0a", "12.1f"]
    assert tool.read_targets(spec("x", "-O3")) == []
    assert not tool.has_device_code(spec("spdlog", sources=["log.cc"]))


NINJA = """ninja: Entering directory `/w'
[1/3] nvcc -MF /w/page/a.o.d -c /src/a.cu -o /w/page/a.cuda.o
[2/3] nvcc -c /src/b.cu -o /w/norm/b.cuda.o
FAILED: [code=1] /w/norm/b.cuda.o\x20
 nvcc -c /src/b.cu -o /w/norm/b.cuda.o
/src/norm.cuh:25:10: fatal error: cublasLt.h: No such file or directory
compilation terminated.
[3/3] c++ /w/page/a.cuda.o -o /w/page/page.so
ninja: build stopped: subcommand failed.
"""


def test_ninja_steps_are_shortened_and_compiler_output_is_collected(capsys):
    failed, words = tool.follow_ninja(NINJA.splitlines(keepends=True), Path("/w"))
    assert failed == ["/w/norm/b.cuda.o"]
    assert words == [
        "/src/norm.cuh:25:10: fatal error: cublasLt.h: No such file or directory",
        "compilation terminated.",
    ]
    shown = capsys.readouterr().out.splitlines()
    assert shown[1:3] == ["[1/3] page/a.cuda.o", "[2/3] norm/b.cuda.o"]
    assert "[3/3] page/page.so" in shown


def test_compiler_time_is_summed_by_module(tmp_path):
    steps = [(0, 1500, f"{tmp_path}/page/a.o"), (100, 400, f"{tmp_path}/page/page.so"), (0, 20, "rope/r.o")]
    log = "# ninja log v7\n" + "".join(f"{start}\t{end}\t9\t{output}\tx\n" for start, end, output in steps)
    (tmp_path / ".ninja_log").write_text(log)
    assert tool.read_seconds(tmp_path) == {"page": 1.8, "rope": 0.02}


def test_the_tree_is_what_flashinfer_looks_for(tmp_path):
    library = tmp_path / "page.so"
    library.write_bytes(b"library")
    one = SimpleNamespace(name="page", jit_library_path=library)
    tool.write_tree(tmp_path / "out", [one], "0.6.13+cu130.sm9x", "abc")
    code = "import flashinfer_jit_cache as f; print(f.__version__, f.__git_version__, f.get_jit_cache_dir())"
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "out", capture_output=True, text=True, check=True
    )
    version, commit, folder = said.stdout.split()
    assert (version, commit) == ("0.6.13+cu130.sm9x", "abc")
    assert (Path(folder) / "page" / "page.so").read_bytes() == b"library"


def test_a_configuration_that_is_not_known_is_said():
    def gen_all_modules(f16_dtype_, sm_capabilities, add_novelties):  # noqa: ARG001  # only its signature is read
        raise AssertionError

    aot = SimpleNamespace(get_default_config=lambda: {"f16_dtype": []}, gen_all_modules=gen_all_modules)
    with pytest.raises(tool.BuildFailure, match="requires unknown settings: add_novelties"):
        tool.list_calls(aot, {})


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_names_are_found_in_a_child_that_leaves_no_trace(tmp_path, monkeypatch):
    called = tmp_path / "called"

    def gen_page_module():
        called.write_text(json.dumps([sys.modules["os"].environ["PATH"]]))
        return spec("page")

    def gen_moe_module():
        raise RuntimeError("downloads")

    context = SimpleNamespace(CompilationContext=type("CompilationContext", (), {"get_nvcc_flags_list": None}))
    monkeypatch.setitem(sys.modules, "flashinfer", SimpleNamespace(compilation_context=context))
    monkeypatch.setitem(sys.modules, "flashinfer.compilation_context", context)
    modules = [tool.Deferred(gen_moe_module, (), {}), tool.Deferred(gen_page_module, (), {})]
    assert tool.list_names(modules, []) == [["moe"], ["page"]]
    assert json.loads(called.read_text()) == [""]
    assert tool.list_names(modules, ["page"]) == [[], ["page"]]
    assert context.CompilationContext.get_nvcc_flags_list is None


@pytest.mark.parametrize("listed", ["", "8.0  9.0a", "90a", "8.0;9.0a"])
def test_a_list_of_targets_that_flashinfer_would_misread_is_refused(listed, tmp_path):
    command = [sys.executable, str(SCRIPT), "--out", str(tmp_path / "out"), "--version", "1"]
    answer = subprocess.run(
        command, env={"FLASHINFER_CUDA_ARCH_LIST": listed}, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 1
    assert "help: use a form such as '8.0 9.0a 12.0f'" in answer.stderr
    assert not (tmp_path / "out").exists()


def test_a_python_without_flashinfer_is_said(tmp_path):
    command = [sys.executable, "-I", str(SCRIPT), "--out", str(tmp_path / "out"), "--version", "1"]
    environ = {"FLASHINFER_CUDA_ARCH_LIST": "9.0a"}
    answer = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert "error: cannot import FlashInfer: No module named 'flashinfer'" in answer.stderr


def test_a_call_that_makes_several_modules_is_taken_apart(monkeypatch):
    def gen_both_modules():
        return [spec("one"), spec("two", "-gencode=arch=compute_90a,code=sm_90a")]

    both = tool.Deferred(gen_both_modules, (), {})
    assert [*both] == [both]  # FlashInfer extends its list with it
    monkeypatch.setattr(tool, "list_names", lambda *_: [["one", "two"]])
    selection = tool.Selection([both], {both.name}, {})
    assert [s.name for s in tool.choose_specs(selection, [], ["9.0a"])[0]] == ["one", "two"]
    assert [s.name for s in tool.choose_specs(selection, ["two"], ["9.0a"])[0]] == ["two"]
    specs, left_out = tool.choose_specs(selection, [], ["8.0"])
    assert ([s.name for s in specs], list(left_out)) == (["one"], ["two"])


def packages(folder):
    """What can be imported of a folder, by a Python of its own; get_jit_cache_providers() as plain data."""
    code = (
        "import flashinfer_jit_cache as shim, json, pathlib\n"
        "read = lambda p: [p.provider_id, p.distribution, p.version, sorted(p.cuda_architectures), sorted(p.modules),\n"
        "                  sorted(q.name for q in pathlib.Path(p.jit_cache_dir).rglob('*.so'))]\n"
        "print(json.dumps([shim.__version__, [read(p) for p in shim.get_jit_cache_providers()]]))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-S", "-c", code], env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=True
    )
    return json.loads(answer.stdout)


def test_a_shim_finds_the_providers_that_are_installed_with_what_flashinfer_reads(tmp_path):
    version = "0.7.2.post1+cu130"
    assert tool.main(["--shim", "--out", str(tmp_path / "shim"), "--version", version]) == 0
    assert packages(tmp_path / "shim") == [version, []]
    for provider in ("sm90a", "sm120f"):
        library = tmp_path / f"{provider}.so"
        library.write_bytes(b"code")
        made = [SimpleNamespace(name="page", jit_library_path=library)]
        tool.write_tree(tmp_path / "shim", made, version, "abc", provider)
    (tmp_path / "shim" / "flashinfer_jit_cache_something_else").mkdir()
    assert packages(tmp_path / "shim") == [
        version,
        [
            ["sm120f", "flashinfer-jit-cache-sm120f", version, ["sm120f"], ["page"], ["page.so"]],
            ["sm90a", "flashinfer-jit-cache-sm90a", version, ["sm90a"], ["page"], ["page.so"]],
        ],
    ]
