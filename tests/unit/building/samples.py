"""Cells and declarations for tests of the build station."""

import os
import stat
from pathlib import Path

from fatwheel.declaration import load
from fatwheel.plan import make_plan
from fatwheel.records.plan import Cell


def cell(cuda="cu130", toolkit="13.0", targets=("8.0", "9.0a"), arch="x86_64", **more):
    """A cell of a CUDA package."""
    about = {
        "id": f"{cuda}-{arch}-sm9x", "package": "demo-kernels", "version": "1.0", "cuda": cuda, "toolkit": toolkit,
        "arch": arch, "family": "sm9x", "targets": list(targets), "covers": ["8.0", "9.0"],
        "local_version": f"{cuda}.sm9x", "wheel": f"demo_kernels-1.0+{cuda}.sm9x-py3-none-manylinux_2_28_{arch}.whl",
        "artifact": f"demo-kernels-{cuda}-{arch}-sm9x", "image": None, "runner": None, "smoke": None,
    }  # fmt: skip
    return Cell(**(about | more))


PURE = """
version: "1.0"
packages:
  - name: demo
    import: demo
    per: []
    tag: py3-none
    source: {{checkout: .}}
    stamp: [{stamp}]
    pack: {{{pack}}}
    build:
      kind: {kind}
      command: ["{{python}}", "make.py", "{{out}}", "{{full_version}}", "{{report}}"{more}]
"""


def pure(folder: Path, script: str, *, kind="tree", stamp="", pack="", more=""):
    """A declaration of one pure wheel whose build command runs ``script``, and its cell."""
    folder.mkdir(exist_ok=True)
    (folder / "make.py").write_text("import sys, pathlib\nout, version, report = sys.argv[1:4]\n" + script)
    (folder / "LICENSE").write_text("free")
    (folder / "matrix.yaml").write_text(PURE.format(kind=kind, stamp=stamp, pack=pack, more=more))
    declaration = load(folder / "matrix.yaml")
    return declaration, make_plan(declaration).cells[0]


GOOD_TREE = """
place = pathlib.Path(out, "demo")
place.mkdir()
(place / "__init__.py").write_text(f"__version__ = '{version}'\\n")
"""


def program(path: Path, text: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def fake_nvcc(home: Path, release: str) -> Path:
    """A CUDA_HOME whose nvcc says that it is of a release."""
    program(home / "bin" / "nvcc", f'echo "Cuda compilation tools, release {release}, V{release}.99"')
    return home


def environment(cache: Path, **more) -> dict[str, str]:
    """This process's environment with a cache of its own and no toolkit set."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CUDA_HOME", "CUDA_PATH", "NVCC_CCBIN")}
    return kept | {"FATWHEEL_CACHE": str(cache)} | {name: str(value) for name, value in more.items()}
