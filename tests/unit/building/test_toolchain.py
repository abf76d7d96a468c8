"""Which CUDA toolkit a cell gets, and what is said where none can be had."""

import pytest

from fatwheel.building.compiler import host_compiler, system_nvcc
from fatwheel.building.toolchain import explain_unavailable, parse_choice, resolve
from fatwheel.errors import BuildError, UsageError
from tests.unit.building.samples import cell, environment, fake_nvcc, program


def found(choice, wanted, tmp_path, notify=lambda _: None, **environ):
    """The toolchain where /usr/local/cuda is not, unless ``usual`` names one."""
    usual = environ.pop("usual", tmp_path / "none")
    return resolve(choice, wanted, environ=environment(tmp_path / "cache", **environ), notify=notify, usual=usual)


def no_nvcc_path(tmp_path):
    """A PATH with a C++ compiler and no nvcc."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    for name in ("g++", "ld", "as"):
        if not (folder / name).exists():
            (folder / name).symlink_to(f"/usr/bin/{name}")
    return folder


def test_cuda_home_comes_first(tmp_path):
    home, usual = fake_nvcc(tmp_path / "own", "13.0"), fake_nvcc(tmp_path / "usual", "12.9")
    tools = found("auto", cell(), tmp_path, CUDA_HOME=home, usual=usual)
    assert (tools.kind, tools.home, tools.nvcc.found) == ("system", home, "CUDA_HOME")
    assert tools.record().release == "13.0"
    assert tools.record().nvcc == "13.0.99"
    assert tools.record().host_compiler.startswith("g++")


def test_the_usual_place_comes_next(tmp_path):
    usual = fake_nvcc(tmp_path / "usual", "13.0")
    assert found("system", cell(), tmp_path, usual=usual).home == usual


def test_path_comes_last_and_a_wrapper_there_names_its_toolkit(tmp_path):
    folder = no_nvcc_path(tmp_path)
    says = 'case "$1" in --dryrun) echo "#$ TOP=/somewhere/cuda/bin/.." >&2;; *) echo "release 13.0, V13.0.88";; esac'
    program(folder / "nvcc", says)
    nvcc = system_nvcc(environment(tmp_path, PATH=folder), tmp_path / "none")
    assert (str(nvcc.home), nvcc.release, nvcc.found) == ("/somewhere/cuda", "13.0", "PATH")


def test_a_stub_of_the_driver_is_made_where_the_toolkit_has_none(tmp_path):
    tools = found("system", cell(), tmp_path, usual=fake_nvcc(tmp_path / "usual", "13.0"))
    assert (tools.stubs / "libcuda.so").read_bytes()[:4] == b"\x7fELF"


def test_nvcc_of_another_release_is_refused(tmp_path):
    with pytest.raises(BuildError, match=r"is CUDA 12\.9, but the cell needs CUDA 13\.0") as caught:
        found("system", cell(), tmp_path, CUDA_HOME=fake_nvcc(tmp_path / "own", "12.9"))
    assert caught.value.exit_code == 4
    assert caught.value.where == "cu130-x86_64-sm9x"
    assert "set CUDA_HOME to a CUDA 13.0 toolkit, or use --toolchain pypi" in str(caught.value.help)


def test_an_nvcc_that_says_nothing_of_a_release_is_refused(tmp_path):
    program(tmp_path / "own" / "bin" / "nvcc", "echo I am not a compiler")
    with pytest.raises(BuildError, match="printed no CUDA release: I am not a compiler"):
        found("system", cell(), tmp_path, CUDA_HOME=tmp_path / "own")


def test_a_cuda_home_without_nvcc_is_named(tmp_path):
    with pytest.raises(BuildError, match=r"CUDA_HOME is .*/empty, but it contains no bin/nvcc"):
        found("system", cell(), tmp_path, CUDA_HOME=tmp_path / "empty")


def test_no_toolkit_at_all(tmp_path):
    with pytest.raises(BuildError, match="nvcc not found"):
        found("system", cell(), tmp_path, PATH=no_nvcc_path(tmp_path))


@pytest.mark.parametrize("image", [None, "nvidia/cuda@sha256:12"])
def test_cuda_12_has_no_nvcc_on_pypi_so_an_image_or_a_cuda_home_is_named(tmp_path, image):
    wanted = cell("cu129", "12.9", image=image)
    for choice in ("auto", "pypi"):
        with pytest.raises(BuildError, match=r"PyPI has no nvcc for CUDA 12") as caught:
            found(choice, wanted, tmp_path, usual=fake_nvcc(tmp_path / "usual", "13.0"))
        assert "/usr/local/cuda-12.9" in str(caught.value.help)
        assert (image or "an image with CUDA 12.9") in str(caught.value.help)


def test_cuda_12_is_built_where_it_is_there(tmp_path):
    wanted = cell("cu129", "12.9")
    assert found("auto", wanted, tmp_path, CUDA_HOME=fake_nvcc(tmp_path / "own", "12.9")).nvcc.release == "12.9"


@pytest.mark.parametrize(
    ("release", "target", "near"), [("12.9", "11.0a", "10.1a"), ("13.0", "10.1a", "11.0a"), ("13.0", "10.7a", "10.3")]
)
def test_a_target_that_the_toolkit_cannot_compile_names_the_cell_and_the_nearest(tmp_path, release, target, near):
    with pytest.raises(BuildError, match=f"CUDA {release} cannot compile {target}") as caught:
        found("auto", cell(toolkit=release, targets=["8.0", target]), tmp_path)
    assert caught.value.where == "cu130-x86_64-sm9x"
    assert f"{near} instead of {target}" in str(caught.value.help)


def test_every_such_target_is_named_at_once(tmp_path):
    with pytest.raises(BuildError, match=r"cannot compile 5\.0, 10\.1a") as caught:
        found("auto", cell(targets=["5.0", "8.0", "10.1a"]), tmp_path)
    assert caught.value.help == "remove 5.0, 11.0a instead of 10.1a"


def test_no_host_compiler(tmp_path):
    with pytest.raises(BuildError, match="host C\\+\\+ compiler not found: 'g\\+\\+' is not on PATH") as caught:
        found("auto", cell(), tmp_path, PATH=tmp_path, CUDA_HOME=fake_nvcc(tmp_path / "own", "13.0"))
    assert caught.value.exit_code == 4
    assert "apt-get install g++" in str(caught.value.help)


def test_the_host_compiler_of_nvcc_may_be_named(tmp_path):
    own = program(tmp_path / "cc" / "g++", "echo my compiler 1.0")
    for value in (own, own.parent):
        compiler = host_compiler(environment(tmp_path, NVCC_CCBIN=value))
        assert (compiler.path, compiler.version) == (str(own), "my compiler 1.0")
    with pytest.raises(BuildError, match="NVCC_CCBIN: 'nothing' not found"):
        host_compiler(environment(tmp_path, NVCC_CCBIN="nothing"))


def test_a_choice_that_is_none_is_a_usage_error():
    with pytest.raises(UsageError, match="unknown toolchain 'conda'"):
        parse_choice("conda")


def test_whether_a_toolchain_can_be_had_is_told_without_a_download(tmp_path):
    environ = environment(tmp_path / "cache", PATH=no_nvcc_path(tmp_path))
    assert explain_unavailable("auto", cell(), environ, tmp_path) is None
    assert "nvcc not found" in str(explain_unavailable("system", cell(), environ, tmp_path))
    assert "PyPI has no nvcc for CUDA 12" in str(explain_unavailable("auto", cell("cu129", "12.9"), environ, tmp_path))
    assert not (tmp_path / "cache").exists()
