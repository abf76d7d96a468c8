"""A package's own Python: made once for equal needs, usable after it was renamed, and checked for its PyTorch."""

import os
import subprocess
import sys

import pytest

from fatwheel.building.environment import base_python, build_python, check_torch
from fatwheel.declaration.model import Build
from fatwheel.errors import BuildError
from tests.unit.building.samples import cell, environment

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


def build(**more):
    return Build(kind="tree", command=["true"], **more)


def python_of(wishes, tmp_path, **environ):
    said: list[str] = []
    return build_python(wishes, cell(), environ=environment(tmp_path / "cache", **environ), notify=said.append), said


def wheel(folder, name="demo_tool"):
    """A wheel with a console script, made by hand."""
    import zipfile

    folder.mkdir(exist_ok=True)
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": "def main():\n    print('it runs')\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{member},,\n" for member in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for member, text in files.items():
            archive.writestr(member, text)
    return folder


def test_equal_needs_share_an_environment_and_others_do_not(tmp_path):
    first, _ = python_of(build(), tmp_path)
    assert python_of(build(env={"A": "b"}), tmp_path)[0] == first
    links = wheel(tmp_path / "links")
    other, said = python_of(build(requires=["demo_tool"]), tmp_path, PIP_NO_INDEX="1", PIP_FIND_LINKS=links)
    assert other != first
    assert said == ["the build environment of demo-kernels: demo_tool"]
    assert python_of(build(requires=["demo_tool"]), tmp_path) == (other, [])


def test_scripts_of_an_environment_run_from_its_final_place(tmp_path):
    links = wheel(tmp_path / "links")
    python, _ = python_of(build(no_deps=["demo_tool==1.0"]), tmp_path, PIP_NO_INDEX="1", PIP_FIND_LINKS=links)
    answer = subprocess.run([python.with_name("demo_tool")], capture_output=True, text=True, check=True)
    assert answer.stdout == "it runs\n"
    assert ".making-" not in (python.parent.parent / "pyvenv.cfg").read_text()


def test_a_requirement_that_cannot_be_had_leaves_nothing(tmp_path):
    with pytest.raises(BuildError, match="the build environment of demo-kernels: nothing-such: no matching version"):
        python_of(build(requires=["nothing-such"]), tmp_path, PIP_NO_INDEX="1", PIP_FIND_LINKS="")
    left = [path for path in (tmp_path / "cache" / "environments").iterdir() if path.suffix != ".lock"]
    assert left == []


def test_an_axis_names_the_python(tmp_path):
    assert base_python(cell(axes={"python": HERE}), {}) == sys.executable
    with pytest.raises(BuildError, match=r"Python 3\.99 not found") as caught:
        base_python(cell(axes={"python": "3.99"}), environment(tmp_path))
    assert "python3.99 is on PATH" in str(caught.value.help)


def test_an_axis_may_name_a_free_threaded_python(tmp_path):
    python = tmp_path / "python3.99t"
    python.write_text("#!/bin/sh\necho 3.99.1\n")
    python.chmod(0o755)
    variables = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    assert base_python(cell(axes={"python": "3.99t"}), variables) == str(python)


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("cuda: Optional[str] = '12.9'\nhip = None\n", "12.9"),
        ('cuda = "12.9"\n', "12.9"),
        ("cuda: Optional[str] = '13.0'\n", None),
        ("cuda: Optional[str] = None\n", None),
    ],
)
def test_a_pytorch_of_another_cuda_is_refused_and_a_cpu_build_is_fine(tmp_path, text, release):
    torch = tmp_path / "lib" / "python3.11" / "site-packages" / "torch"
    torch.mkdir(parents=True)
    (torch / "version.py").write_text(text)
    python = tmp_path / "bin" / "python"
    if release is None:
        check_torch(python, cell())
        return
    with pytest.raises(BuildError, match=rf"PyTorch is for CUDA {release}, but the cell is for CUDA 13\.0") as caught:
        check_torch(python, cell())
    assert caught.value.where == "cu130-x86_64-sm9x"
