"""The module in a wheel that tells whether it fits: put in where it is declared, and right in what it says."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fatwheel.building import product
from fatwheel.declaration import load
from fatwheel.errors import BuildError
from fatwheel.plan import make_plan
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.wheels.making.pack import pack
from tests.unit.index.assets import make_wheel

DECLARED = """
version: "1.0"
packages:
  - name: demo-kernels
    import: demo
    per: [cuda, arch]
    layout: {layout}
    manylinux: "2_28"
    guard: {guard}
    build: {{kind: tree, command: [make]}}
cuda:
  cu130: {{toolkit: "13.0", targets: {{x86_64: "8.0 9.0a 12.0f"}}}}
families: {{sm9x: {{majors: [8, 9]}}, sm12x: {{majors: [12]}}}}
"""


def cells(folder, layout="family", guard="demo/_fits.py"):
    (folder / "matrix.yaml").write_text(DECLARED.format(layout=layout, guard=guard))
    declaration = load(folder / "matrix.yaml")
    return declaration.package("demo-kernels"), make_plan(declaration).cells


def packed(folder, cell, package, **files):
    """The wheel of a tree, as a build makes it, unpacked as pip would; its folder."""
    tree = folder / f"tree-{cell.id}"
    for name, text in {"demo/__init__.py": "", **files}.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    wheel = product.pack_tree(
        tree, folder / "staging", cell=cell, package=package, source=folder, licenses=[],
        stamp=EmbeddedMetadata.of(cell),
    )  # fmt: skip
    return unpacked(wheel)


def unpacked(*wheels):
    place = wheels[0].parent / f"site-{wheels[0].stem}"
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place)
    return place


def ask(site, gpus, code="print(json.dumps(fits()._asdict()))", **env):
    """What a process says that imports from there."""
    script = f"import json, sys; sys.path.insert(0, {str(site)!r}); from demo._fits import fits; {code}"
    variables = {"PATH": os.environ["PATH"], **({} if gpus is None else {"FATWHEEL_GPU": gpus}), **env}
    command = [sys.executable, "-I", "-c", script]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


@pytest.fixture
def site(tmp_path):
    package, (first, *_) = cells(tmp_path)
    return packed(tmp_path, first, package)


@pytest.mark.parametrize(
    ("gpus", "ok", "said"),
    [
        ("9.0", True, "demo-kernels covers 9.0"),
        ("8.6, 9.0", True, "demo-kernels covers 8.6, 9.0"),
        ("12.0", False, "demo-kernels 1.0+cu130.sm9x does not cover compute capability 12.0, only 8.0, 8.6"),
        ("9.0,12.1", False, "does not cover compute capability 12.1"),
        ("", None, "no GPU is visible"),
    ],
)
def test_a_wheel_reports_whether_it_covers_the_gpus(site, gpus, ok, said):
    answer = ask(site, gpus)
    assert answer["ok"] is ok
    assert said in answer["why"]


def test_without_a_driver_the_answer_is_unknown(site):
    answer = ask(site, None, CUDA_VISIBLE_DEVICES="")
    assert answer["ok"] is None
    assert answer["gpus"] == []


def test_importing_it_loads_no_library_and_starts_no_process(site):
    told = ask(
        site, None,
        "maps = open('/proc/self/maps').read(); print(json.dumps('libcuda' in maps or 'libnvidia' in maps))",
    )  # fmt: skip
    assert told is False
    hooked = (
        "import builtins; seen = []; sys.addaudithook(lambda event, _: seen.append(event));"
        "import importlib, demo._fits; importlib.reload(demo._fits);"
        "print(json.dumps([e for e in seen if e in ('ctypes.dlopen', 'subprocess.Popen')]))"
    )
    assert ask(site, None, hooked) == []


def test_providers_have_none_and_their_shim_answers_for_those_that_are_installed(tmp_path):
    package, planned = cells(tmp_path, layout="provider")
    shim = next(cell for cell in planned if cell.shim)
    provider = next(cell for cell in planned if cell.family == "sm90a")
    made = packed(tmp_path, provider, package)
    assert not (made / "demo" / "_fits.py").exists()
    front = packed(tmp_path, shim, package)
    for place in made.iterdir():
        if place.suffix == ".dist-info":
            place.rename(front / place.name)
    assert ask(front, "9.0")["ok"] is True
    assert ask(front, "12.0")["ok"] is False


def test_a_projects_own_wheel_gets_it_too(tmp_path):
    package, (first, *_) = cells(tmp_path)
    tree = tmp_path / "own"
    (tree / "demo").mkdir(parents=True)
    (tree / "demo" / "__init__.py").write_text("")
    tags = first.wheel.removesuffix(".whl").split("-", 2)[2]
    pack(tree, tmp_path / "out", distribution="demo-kernels", version=first.full_version, tags=tags)
    wheel = product.collect_wheel(
        tmp_path / "out", tmp_path / "staging", cell=first, package=package, stamp=EmbeddedMetadata.of(first)
    )
    with zipfile.ZipFile(wheel) as archive:
        assert "demo/_fits.py" in archive.read(f"demo_kernels-{first.full_version}.dist-info/RECORD").decode()
    assert ask(unpacked(wheel), "9.0")["ok"] is True


@pytest.mark.parametrize(
    ("guard", "said"), [("demo/__init__.py", "made a file of this name"), ("demo/fits.txt", "must end in .py")]
)
def test_a_place_that_is_taken_or_no_modules_is_an_error(tmp_path, guard, said):
    package, (first, *_) = cells(tmp_path, guard=guard)
    with pytest.raises(BuildError, match=said):
        packed(tmp_path, first, package)


def test_a_wheel_without_a_stamp_does_not_know(tmp_path):
    site = unpacked(make_wheel(tmp_path, "1.0+cu130.sm9x", stamped=False))
    (site / "demo").mkdir()
    text = (Path(__file__).resolve().parents[3] / "scripts" / "fits.py").read_text()
    (site / "demo" / "_fits.py").write_text(text.replace('DISTRIBUTION = ""', 'DISTRIBUTION = "demo-kernels"'))
    answer = ask(site, "9.0")
    assert answer["ok"] is None
    assert "does not declare the GPUs it covers" in answer["why"]
