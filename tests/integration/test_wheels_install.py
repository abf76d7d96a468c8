"""Install wheels packed by fatwheel with pip, uv and installer."""

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fatwheel.wheels.formats.wheel_name import WheelName
from fatwheel.wheels.making.pack import embed_metadata, pack
from fatwheel.wheels.making.placeholder import write_placeholder
from fatwheel.wheels.making.repack import Changes, repack
from tests.unit.wheels.synthetic import VERSION, library, rezip, stamp

pytestmark = pytest.mark.integration

TAGS = f"py3-none-linux_{platform.machine()}"


def pip(wheel: Path, folder: Path) -> list[str]:
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-compile"]
    return [*command, "--target", str(folder), str(wheel)]


def installer(wheel: Path, folder: Path) -> list[str]:
    """Install with pypa/installer, which compares every file with RECORD."""
    prefix = folder.parent / "prefix"
    move = (
        "import shutil, subprocess, sys, pathlib;"
        "subprocess.run([sys.executable, '-m', 'installer', '--prefix', sys.argv[2], '--no-compile-bytecode',"
        " '--validate-record', 'all', sys.argv[1]], check=True);"
        "found = next(pathlib.Path(sys.argv[2]).rglob('site-packages'));"
        "shutil.move(found, sys.argv[3])"
    )
    return [sys.executable, "-c", move, str(wheel), str(prefix), str(folder)]


def uv(wheel: Path, folder: Path) -> list[str]:
    tool = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if not tool:
        pytest.skip("no uv")
    return [tool, "pip", "install", "--no-index", "--no-deps", "--no-cache", "--target", str(folder), str(wheel)]


@pytest.fixture(params=[pip, uv, installer], ids=["pip", "uv", "installer"])
def install(request, tmp_path):
    def installed(wheel: Path) -> Path:
        folder = tmp_path / "site"
        done = subprocess.run(request.param(wheel, folder), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return folder

    return installed


def version_of(folder: Path) -> str:
    code = "import demo_jit, importlib.metadata as m; print(demo_jit.__version__, m.version('demo-jit'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    imported, said = done.stdout.split()
    assert imported == said
    return said


def packed(tmp_path) -> tuple[Path, dict[str, bytes]]:
    files = {
        "demo_jit/__init__.py": f'__version__ = "{VERSION}"\n'.encode(),
        "demo_jit/k.so": library("120f"),
        "demo_jit/bin/tool": b"#!/bin/sh\nexit 0\n",
        "demo_jit/data, with comma.txt": "ä\n".encode(),
    }
    for name, data in files.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "tree/demo_jit/bin/tool").chmod(0o755)
    (tmp_path / "LICENSE").write_text("As you like.\n")
    wheel = pack(
        tmp_path / "tree", tmp_path, distribution="demo-jit", version=VERSION, tags=TAGS, embedded=stamp(),
        licenses=[tmp_path / "LICENSE"], metadata={"requires_python": ">=3.9", "license-expression": "MIT"},
    )  # fmt: skip
    return wheel, files


def test_a_packed_wheel_installs_unchanged(tmp_path, install):
    wheel, files = packed(tmp_path)
    folder = install(wheel)
    assert {name: (folder / name).read_bytes() for name in files} == files
    assert (folder / "demo_jit/bin/tool").stat().st_mode & 0o111
    assert version_of(folder) == VERSION
    info = folder / WheelName.parse(wheel.name).dist_info
    assert (info / "licenses/LICENSE").read_text() == "As you like.\n"
    assert (info / "fatwheel.json").exists()


def test_a_wheel_with_embedded_metadata_installs(tmp_path, install):
    wheel, files = packed(tmp_path)
    bare = rezip(wheel, lambda members: members.pop(f"{WheelName.parse(wheel.name).dist_info}/fatwheel.json"))
    folder = install(embed_metadata(bare, tmp_path / "stamped", stamp()))
    assert {name: (folder / name).read_bytes() for name in files} == files
    assert version_of(folder) == VERSION


@pytest.mark.parametrize("size", [5000, 50_000_001])
def test_a_placeholder_installs(tmp_path, install, size):
    wheel = write_placeholder(
        tmp_path, f"demo_jit-{VERSION}-{TAGS}.whl", embedded=stamp(), size=size, import_name="demo_jit"
    )
    assert wheel.stat().st_size == size
    folder = install(wheel)
    assert version_of(folder) == VERSION
    assert set((folder / "demo_jit/placeholder.bin").read_bytes()) == {0}


def test_a_repacked_wheel_installs_under_its_new_version(tmp_path, install):
    wheel, files = packed(tmp_path)
    changes = Changes(label="cu130.other", stamps=("demo_jit/__init__.py",), exclude=("*comma.txt",), sbom=True)
    done = repack(wheel, tmp_path / "made", changes, level=9, large=64)
    folder = install(tmp_path / "made" / done.wheel)
    assert version_of(folder) == "1.0+cu130.other"
    same = set(files) - {"demo_jit/__init__.py", "demo_jit/data, with comma.txt"}
    assert {name: (folder / name).read_bytes() for name in same} == {name: files[name] for name in same}
    assert (folder / "demo_jit/bin/tool").stat().st_mode & 0o111
    assert not (folder / "demo_jit/data, with comma.txt").exists()
    assert (folder / done.sbom).is_file()
