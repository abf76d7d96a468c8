"""What would fail at the end of a build fails at its beginning, and all of it at once."""

import os
import platform
from pathlib import Path

import pytest

from fatwheel.building.build_dir import BuildDir
from fatwheel.building.compiler import HostCompiler, Nvcc
from fatwheel.building.engine import HOST
from fatwheel.building.parallel import Machine
from fatwheel.building.preflight import Ready, preflight
from fatwheel.building.toolchain import Toolchain
from fatwheel.declaration import parse
from fatwheel.errors import BuildError
from fatwheel.records.embedded import EmbeddedMetadata
from tests.unit.building.samples import cell, program

TEXT = """
version: "1.0"
packages:
  - name: demo-kernels
    import: demo_kernels
    per: []
    source: {{checkout: .}}
    build: {{kind: {kind}, command: [make], disk: {disk}}}
    metadata: {{readme: {readme}}}
"""
GIB = 1 << 30


def ready(tmp_path, *, nvcc="exit 0", disk="1 MB", readme="R.md", kind="tree", **about):
    """A build of a package whose nvcc is this script."""
    work = BuildDir(tmp_path / "work")
    work.temporary.mkdir(parents=True)
    (tmp_path / "R.md").write_text("# demo")
    declaration = parse(TEXT.format(disk=disk, readme=readme, kind=kind), tmp_path / "matrix.yaml")
    program(tmp_path / "cuda" / "bin" / "nvcc", nvcc)
    tools = Toolchain(
        "system", Nvcc(tmp_path / "cuda", "13.0", "13.0.88", "x"), HostCompiler("g++", "g++ 12"), tmp_path
    )
    wanted = cell(arch=platform.machine(), **about)
    return Ready(wanted, declaration.packages[0], HOST, tools, work, tmp_path, [], EmbeddedMetadata.of(wanted))


def check(about, memory=64 * GIB):
    said = []
    preflight(about, os.environ, Machine(2, memory), 2 * GIB, said.append)
    return said


# What the real compiler does with these arguments: it links a library for this machine.
LINKS = 'case "$*" in *-shared*) echo "int x;" | g++ -x c -shared -fPIC -o preflight.so - ;; esac'


def test_a_build_that_can_be_done_passes_and_leaves_no_trace_in_its_output(tmp_path):
    about = ready(tmp_path, nvcc=LINKS)
    assert check(about) == []
    assert not about.work.out.exists()


def test_little_memory_is_only_said(tmp_path):
    (said,) = check(ready(tmp_path, nvcc=LINKS), memory=GIB)
    assert said == "warning: 1.000 GiB of memory are free, but one compiler is assumed to need 2.000 GiB"


def test_the_target_that_does_not_compile_is_named(tmp_path):
    breaks = f'case "$*" in *sm_90a*) echo "ptxas fatal: unsupported sm_90a"; exit 1;; esac; {LINKS}'
    with pytest.raises(BuildError, match=r"an empty kernel does not compile for 9\.0a with nvcc 13\.0\.88") as caught:
        check(ready(tmp_path, nvcc=breaks))
    assert "  | ptxas fatal: unsupported sm_90a" in caught.value.what


def test_a_linker_that_fails_is_told_from_a_compiler_that_fails(tmp_path):
    breaks = 'case "$*" in *-shared*) echo "cannot find -lcudart_static"; exit 1;; esac'
    with pytest.raises(
        BuildError, match=r"an empty kernel does not link with nvcc .*\n  \| cannot find -lcudart_static"
    ):
        check(ready(tmp_path, nvcc=breaks))


def test_code_for_another_cpu_is_refused(tmp_path):
    header = b"\x7fELF\2\1\1" + bytes(9) + b"\3\0\xb7\0" + bytes(44)
    (tmp_path / "arm.so").write_bytes(header)
    with pytest.raises(BuildError, match="generates code for aarch64, but the cell is for x86_64"):
        check(ready(tmp_path, nvcc=f"cp {tmp_path}/arm.so preflight.so"))


@pytest.mark.parametrize("kind", ["tree", "wheel"])
def test_all_that_is_wrong_is_told_at_once(tmp_path, kind):
    about = ready(tmp_path, nvcc="echo broken; exit 1", disk="900000 GB", readme="NONE.md", kind=kind)
    with pytest.raises(BuildError) as caught:
        check(about)
    count = 3 if kind == "tree" else 2
    assert caught.value.what.startswith(
        f"preflight found {count} errors that would fail this build:\n- the build needs 838190.317 GiB"
    )
    assert "- an empty kernel does not compile with" in caught.value.what
    assert ("NONE.md not found" in caught.value.what) is (kind == "tree")
    assert Path(about.work.temporary).is_dir()
