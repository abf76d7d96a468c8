"""What a build command is told: its fields, its environment, and what stays out of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from fatwheel.building.compiler import HostCompiler, Nvcc
from fatwheel.building.toolchain import Toolchain
from fatwheel.building.variables import command_fields, compression_flag, environment_variables, fill_command
from fatwheel.declaration import parse
from fatwheel.declaration.templates import COMMAND_FIELDS
from fatwheel.errors import BuildError, UsageError
from fatwheel.plan import find_cell, make_plan
from fatwheel.records.build import Parallelism

TEXT = """
version: "0.6.13"
packages:
  - name: demo-kernels
    import: demo_kernels
    per: [cuda, arch]
    layout: family
    manylinux: "2_28"
    build:
      kind: tree
      command: ["{{python}}", "b.py", "{{out}}", "{{modules}}", "{{{{}}}}"]
      spelling: {spelling}
      env: {{ARCH_LIST: "{{targets}}", SUFFIX: "{{dev}}", FULL: "{{full_version}}", PATH_OF: "{{source}}"}}
cuda:
  cu130: {{toolkit: "{toolkit}", targets: {{x86_64: 8.0 9.0a}}{compress}}}
families:
  sm9x: {{majors: [8, 9]}}
secrets: {{whl: OUR_WHEEL_KEY}}
channels:
  nightly: {{tag: "nightly-{{date}}"}}
"""
TOOLS = Toolchain(
    "system", Nvcc(Path("/cuda"), "13.0", "13.0.88", "CUDA_HOME"), HostCompiler("/g++", "g++"), Path("/stubs")
)


def declared(spelling="flashinfer", toolkit="13.0", compress=", compress: size"):
    return parse(TEXT.format(spelling=spelling, toolkit=toolkit, compress=compress), Path("matrix.yaml"))


def fields(declaration, wanted, modules=None, launcher=""):
    return command_fields(
        wanted, declaration.packages[0], out=Path("/o"), source=Path("/s"), report=Path("/r"),
        python=Path("/env/bin/python"), modules=modules, parallel=Parallelism(jobs=3), launcher=launcher,
    )  # fmt: skip


def variables(declaration, environ, toolchain=TOOLS, glibc_stubs=None, launcher=""):
    wanted = find_cell(declaration, "cu130-x86_64-sm9x")
    values = fields(declaration, wanted, launcher=launcher)
    return environment_variables(
        declaration, wanted, declaration.packages[0], values, environ=environ, toolchain=toolchain,
        glibc_stubs=glibc_stubs, temporary=Path("/t"), epoch=7,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("spelling", "targets"),
    [("flashinfer", "8.0 9.0a"), ("torch", "8.0;9.0a"), ("cmake", "80-real;90a-real"), ("dotted", "8.0 9.0a")],
)
def test_targets_are_written_as_the_package_wants_them(spelling, targets):
    declaration = declared(spelling)
    values = fields(declaration, find_cell(declaration, "cu130-x86_64-sm9x"))
    assert values["targets"] == targets
    assert (values["covers"], values["full_version"], values["dev"]) == ("8.0 8.6 8.9 9.0", "0.6.13+cu130.sm9x", "")


def test_what_check_allows_in_a_build_command_is_what_builds_give():
    declaration = declared()
    assert fields(declaration, find_cell(declaration, "cu130-x86_64-sm9x")).keys() == COMMAND_FIELDS


def test_a_nightly_has_its_day():
    declaration = declared()
    nightly = make_plan(declaration, "nightly").cells[0]
    values = fields(declaration, nightly)
    assert len(values["dev"]) == 8
    assert values["version"].endswith(f".dev{values['dev']}")


def test_the_toolchain_comes_first_in_the_environment():
    found = variables(declared(), {"PATH": "/usr/bin", "LIBRARY_PATH": "/mine", "CUDA_HOME": "/other"})
    assert found["PATH"] == "/env/bin:/cuda/bin:/usr/bin"
    assert (found["CUDA_HOME"], found["LIBRARY_PATH"]) == ("/cuda", "/stubs:/mine")
    assert (found["TMPDIR"], found["SOURCE_DATE_EPOCH"]) == ("/t", "7")


def test_the_packages_own_variables_are_filled_in():
    found = variables(declared(), {})
    assert (found["ARCH_LIST"], found["FULL"], found["PATH_OF"]) == ("8.0 9.0a", "0.6.13+cu130.sm9x", "/s")


def test_secrets_stay_out_and_what_a_build_needs_stays_in():
    secrets = {"GITHUB_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "x", "OUR_WHEEL_KEY": "x", "SOME_PASSWORD": "x"}
    needed = {"CC": "gcc", "TOKENIZERS_PARALLELISM": "false", "HTTPS_PROXY": "http://proxy"}
    found = variables(declared(), secrets | needed)
    assert not secrets.keys() & found.keys()
    assert needed.items() <= found.items()


def test_the_compression_mode_is_added_to_nvccs_own_flags():
    assert variables(declared(), {})["NVCC_APPEND_FLAGS"] == "--compress-mode=size"
    assert variables(declared(), {"NVCC_APPEND_FLAGS": "-t 2"})["NVCC_APPEND_FLAGS"] == "-t 2 --compress-mode=size"
    assert "NVCC_APPEND_FLAGS" not in variables(declared(compress=""), {})


def test_a_toolkit_before_12_8_knows_no_compression_mode():
    declaration = declared()
    old = find_cell(declaration, "cu130-x86_64-sm9x").model_copy(update={"toolkit": "12.6"})
    with pytest.raises(BuildError, match=r"nvcc 12\.6 does not support --compress-mode=size") as caught:
        compression_flag(declaration, old)
    assert (caught.value.exit_code, caught.value.where) == (4, "cu130-x86_64-sm9x")
    assert compression_flag(declared(compress=", compress: none"), old) == ""


def test_a_slice_fills_its_place_in_the_command():
    declaration = declared()
    package, wanted = declaration.packages[0], find_cell(declaration, "cu130-x86_64-sm9x")
    values = fields(declaration, wanted, ["a", "b"])
    assert fill_command(package, values, ["a", "b"]) == ["/env/bin/python", "b.py", "/o", "a,b", "{}"]
    assert fill_command(package, fields(declaration, wanted), None)[3] == ""


def test_a_command_without_a_place_for_modules_builds_no_slice():
    package = declared().packages[0]
    whole = package.model_copy(update={"build": package.build.model_copy(update={"command": ["make"], "env": {}})})
    with pytest.raises(
        UsageError, match=r"cannot build a partial wheel of demo-kernels: its command does not use \{modules\}"
    ):
        fill_command(whole, {}, ["a"])


def test_glibc_stubs_for_old_glibc_libraries_come_first_for_every_linker():
    found = variables(declared(), {"PATH": "/bin", "LDFLAGS": "-s"}, glibc_stubs=Path("/floor"))
    assert found["LDFLAGS"] == "-L/floor -s"
    assert found["NVCC_PREPEND_FLAGS"] == "-L/floor"


def test_jobs_and_launchers_reach_those_that_do_not_ask_for_them():
    found = variables(declared(), {"CMAKE_BUILD_PARALLEL_LEVEL": "1"}, launcher="/cached")
    assert (found["MAX_JOBS"], found["CMAKE_BUILD_PARALLEL_LEVEL"]) == ("3", "1")
    assert found["CMAKE_CUDA_COMPILER_LAUNCHER"] == "/cached"
    assert "CMAKE_CXX_COMPILER_LAUNCHER" not in variables(declared(), {})


def test_a_cross_compiler_gets_the_runtime_of_the_other_cpu():
    tools = replace(TOOLS, libraries=Path("/arm"), headers=Path("/inc"))
    found = variables(declared(), {"PATH": "/bin"}, toolchain=tools)
    assert (found["NVCC_CCBIN"], found["CXX"]) == ("/g++", "/g++")
    assert found["NVCC_PREPEND_FLAGS"] == "-L/arm -L/stubs -I/inc -isystem /inc/cccl"
