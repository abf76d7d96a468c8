"""Errors of build commands: the compiler's message leads, and is printed once."""

import shutil
import subprocess

import pytest

from fatwheel.building.build_errors import command_failed, find_diagnostic
from tests.unit.building.samples import environment, pure

NINJA = """\
[1/3] c++ -c other.cpp
other.cpp:1:2: error: of a probe that may fail
[2/3] nvcc -c a.cu
FAILED: [code=1] a.o
/cuda/bin/nvcc -c a.cu -o a.o
a.cu(12): error: identifier "nowhere" is undefined
          nowhere();
          ^

1 error detected in the compilation of "a.cu".
[3/3] c++ -c b.cpp
ninja: build stopped: subcommand failed.
"""
CMAKE = """\
-- The CXX compiler identification is GNU 12.2.0
CMake Error at CMakeLists.txt:5 (find_package):
  By not providing "FindNope.cmake" in CMAKE_MODULE_PATH this project has

  asked CMake to find a package configuration file provided by "Nope"
-- Configuring incomplete, errors occurred!
"""
SETUPTOOLS = """\
running build_ext
building 'demo' extension
g++ -c demo.cpp -o build/demo.o
demo.cpp:1:10: fatal error: nowhere.h: No such file or directory
    1 | #include <nowhere.h>
      |          ^~~~~~~~~~~
compilation terminated.
error: command '/usr/bin/g++' failed with exit code 1
"""


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (NINJA, ['a.cu(12): error: identifier "nowhere" is undefined']),
        (
            CMAKE,
            [
                "CMake Error at CMakeLists.txt:5 (find_package):",
                'By not providing "FindNope.cmake" in CMAKE_MODULE_PATH this project has',
            ],
        ),
        (SETUPTOOLS, ["demo.cpp:1:10: fatal error: nowhere.h: No such file or directory"]),
        (
            "nvcc fatal   : Unsupported gpu architecture 'compute_35'\n",
            ["nvcc fatal   : Unsupported gpu architecture 'compute_35'"],
        ),
        (
            "ptxas a.ptx, line 5; error   : Unknown modifier '.x'\nptxas fatal   : Ptx assembly aborted\n",
            ["ptxas a.ptx, line 5; error   : Unknown modifier '.x'"],
        ),
        (
            "/usr/bin/ld: cannot find -lfoo: No such file or directory\ncollect2: error: ld returned 1 exit status\n",
            ["/usr/bin/ld: cannot find -lfoo: No such file or directory"],
        ),
        (
            "/usr/bin/ld: a.o: in function `f':\na.cpp:(.text+0x5): undefined reference to `g'\n",
            ["a.cpp:(.text+0x5): undefined reference to `g'"],
        ),
        ("\x1b[1ma.cpp:1:2: \x1b[31merror: \x1b[0mno\n", ["a.cpp:1:2: error: no"]),
        ("a.cpp:1:2: warning: unused\nmake: *** [all] Error 1\n", None),
        ("Traceback (most recent call last):\nValueError: no\n", None),
    ],
)
def test_the_first_message_of_a_compiler_is_found(output, expected, tmp_path):
    error = failed(output, tmp_path)
    if expected is None:
        assert find_diagnostic(output) is None
        assert error.what.startswith("the build command exited with code 1; its last lines:\n")
        return
    assert error.what.splitlines()[: len(expected)] == [expected[0], *(f"  {line}" for line in expected[1:])]
    assert "\n  the build command exited with code 1" in error.what
    assert [error.what.count(line) for line in expected] == [1] * len(expected)


def failed(output, tmp_path):
    _, cell = pure(tmp_path / "project", "")
    log = tmp_path / "build.log"
    log.write_text(output)
    return command_failed(cell, 1, log, environment(tmp_path / "cache"))


@pytest.mark.parametrize("compiler", ["g++", "nvcc"])
def test_real_compilers(tmp_path, compiler):
    program = shutil.which(compiler)
    if program is None:
        pytest.skip(f"no {compiler}")
    name, option = ("a.cu", "-arch=sm_35") if compiler == "nvcc" else ("a.cpp", "-O1")
    (tmp_path / name).write_text("int f() { return nowhere; }\n")
    answer = subprocess.run([program, "-c", option, name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode != 0
    first = failed(answer.stdout + answer.stderr, tmp_path).what.splitlines()[0]
    assert first.startswith("nvcc fatal   : " if compiler == "nvcc" else "a.cpp:1:18: error: ")


def test_secrets_are_redacted(tmp_path):
    _, cell = pure(tmp_path / "project", "")
    (tmp_path / "build.log").write_text("a.cpp:1:1: error: the-secret-value\n")
    environ = environment(tmp_path / "cache") | {"MY_TOKEN": "the-secret-value"}
    error = command_failed(cell, 1, tmp_path / "build.log", environ)
    assert error.what.startswith("a.cpp:1:1: error: <MY_TOKEN>")
