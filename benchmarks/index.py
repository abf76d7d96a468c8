"""An index of 10,000 wheels: made in full, made again, with 12 wheels more; beside other makers of static indexes.

``python benchmarks/index.py [--wheels 10000] [--rounds 3]`` prints seconds of whole processes, wall and processor time,
the best of the rounds. simple503 and dumb-pypi are measured where they are installed. All read the same files: small
wheels with METADATA and fatwheel's stamp, each with its ``.metadata`` beside it. First the releases have a manifest,
as those that fatwheel made; then they have none, and every wheel must be opened. As in an installed package, modules
are compiled to bytecode once.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CUDA = {"cu129": "12.9", "cu130": "13.0"}
FAMILIES = {"sm9x": ["8.0", "8.6", "8.9", "9.0"], "sm10x": ["10.0", "10.3"], "sm12x": ["12.0", "12.1"]}
ARCHES = ("x86_64", "aarch64")
PROJECTS = ("demo-kernels", "demo-attention", "demo-moe", "demo-comm")
VERSIONS = count(100_000)
A_VERSION = len(CUDA) * len(FAMILIES) * len(ARCHES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        made = fill(place / "store", asked.wheels)
        print(f"{made} wheels in {len(list((place / 'store').iterdir()))} releases")
        ours(place, asked.rounds, "")
        for manifest in (place / "store").glob("*/manifest.json"):
            manifest.unlink()
        ours(place, asked.rounds, ", no manifests")
        others(place, asked.rounds)


def ours(place: Path, rounds: int, how: str) -> None:
    store, out = f"dir:{place / 'store'}", str(place / "index")
    command = [sys.executable, "-m", "fatwheel", "index", "--store", store, "-o", out]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env |= {"FATWHEEL_CACHE": str(place / "cache"), "PYTHONPYCACHEPREFIX": str(place / "bytecode")}

    def fresh() -> None:
        shutil.rmtree(place / "index", ignore_errors=True)
        shutil.rmtree(place / "cache", ignore_errors=True)

    def one_more() -> None:
        release(place / "store", PROJECTS[0], next(VERSIONS))
        if how:
            for manifest in (place / "store").glob("*/manifest.json"):
                manifest.unlink()

    show(f"fatwheel, in full{how}", *best(rounds, command, env, fresh))
    show(f"fatwheel, nothing new{how}", *best(rounds, command, env, lambda: None))
    show(f"fatwheel, {A_VERSION} wheels more{how}", *best(rounds, command, env, one_more))


def others(place: Path, rounds: int) -> None:
    """The same wheels in one flat folder, as these tools want them."""
    flat = place / "flat"
    flat.mkdir()
    names = []
    for wheel in sorted((place / "store").glob("*/*.whl")):
        os.link(wheel, flat / wheel.name)
        names.append(wheel)
    if shutil.which("simple503"):
        command = ["simple503", str(flat), str(place / "simple503"), "--copy", "-B", "https://example.org/"]
        fresh = best(rounds, command, dict(os.environ), lambda: clean(place / "simple503"))
        show("simple503 (copies the files)", *fresh)
        command = ["simple503", str(flat), "-B", "https://example.org/"]
        show("simple503 (in the folder)", *best(rounds, command, dict(os.environ), lambda: None))
    if shutil.which("dumb-pypi"):
        start = time.perf_counter()
        digests = [(wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest()) for wheel in names]
        listed = [{"filename": name, "hash": f"sha256={digest}"} for name, digest in digests]
        hashing = time.perf_counter() - start
        (place / "list.json").write_text("\n".join(map(json.dumps, listed)))
        command = ["dumb-pypi", "--package-list-json", str(place / "list.json"), "--packages-url", "https://example.org/",
                   "--output-dir", str(place / "dumb")]  # fmt: skip
        show("dumb-pypi (from a list)", *best(rounds, command, dict(os.environ), lambda: clean(place / "dumb")))
        print(f"{'':42} and {hashing:.2f} s to hash the files for its list; it opens none")


def clean(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def best(rounds: int, command: list[str], env: dict[str, str], before: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds of the fastest of ``rounds`` processes."""
    took = []
    for _ in range(rounds):
        before()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        answer = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        wall = time.perf_counter() - start
        if answer.returncode:
            sys.exit(f"{' '.join(command)}: {answer.returncode}\n{answer.stderr[-2000:]}")
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append((wall, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime))
    return min(wall for wall, _ in took), min(processor for _, processor in took)


def show(what: str, wall: float, processor: float) -> None:
    print(f"{what:42} {wall:7.2f} s   {processor:7.2f} s of processor time", flush=True)


def fill(store: Path, wanted: int) -> int:
    made = version = 0
    while made < wanted:
        made += sum(release(store, project, version) for project in PROJECTS)
        version += 1
    return made


def release(store: Path, project: str, number: int) -> int:
    """One version of a project: twelve wheels with their metadata."""
    version = f"{number // 400}.{number // 20 % 20}.{number % 20}"
    place = store / f"{project}-v{version}"
    place.mkdir(parents=True)
    assets = []
    for name, data, metadata, stamp in wheels(project, version):
        for file, held in ((name, data), (f"{name}.metadata", metadata)):
            (place / file).write_bytes(held)
            assets.append({"name": file, "size": len(held), "sha256": hashlib.sha256(held).hexdigest()})
        assets[-2]["build"] = built(assets[-2], stamp)
    (place / "manifest.json").write_text(json.dumps({"version": 1, "tag": place.name, "assets": assets}))
    return A_VERSION


def built(asset: dict[str, object], stamp: dict[str, object]) -> dict[str, object]:
    """A build record, as it stands in a manifest."""
    public, label = str(stamp["version"]).split("+")
    cell = {
        "id": f"{stamp['cuda']}-{stamp['arch']}-{stamp['family']}", "package": stamp["distribution"], "version": public,
        **{key: stamp[key] for key in ("cuda", "toolkit", "arch", "family", "targets", "covers")},
        "local_version": label, "wheel": asset["name"], "artifact": "a", "image": None, "runner": None, "smoke": None,
    }  # fmt: skip
    tools = {"kind": "none", "release": None, "nvcc": None, "host_compiler": None}
    return {
        "wheel": asset["name"], "bytes": asset["size"], "sha256": asset["sha256"], "cell": cell, "engine": "host",
        "toolchain": tools, "commit": stamp["commit"],
    }  # fmt: skip


def wheels(project: str, version: str) -> Iterator[tuple[str, bytes, bytes, dict[str, object]]]:
    under = project.replace("-", "_")
    for cuda, toolkit in CUDA.items():
        for family, covers in FAMILIES.items():
            for arch in ARCHES:
                full, tag = f"{version}+{cuda}.{family}", f"cp39-abi3-manylinux_2_28_{arch}"
                info = f"{under}-{full}.dist-info"
                metadata = (
                    f"Metadata-Version: 2.4\nName: {project}\nVersion: {full}\nRequires-Python: >=3.9\n"
                    "Requires-Dist: torch>=2.4\nRequires-Dist: numpy\n\n" + "Kernels for many GPUs.\n" * 40
                ).encode()
                stamp = {
                    "distribution": project, "version": full, "cuda": cuda, "toolkit": toolkit, "arch": arch,
                    "family": family, "targets": covers, "covers": covers, "commit": "0" * 40,
                }  # fmt: skip
                held = {
                    f"{under}/__init__.py": b"def fits():\n    return True\n",
                    f"{under}/kernels.so": os.urandom(2000),
                    f"{info}/METADATA": metadata,
                    f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
                    f"{info}/fatwheel.json": json.dumps(stamp, indent=2).encode(),
                }
                held[f"{info}/RECORD"] = (
                    "".join(
                        f"{name},sha256={hashlib.sha256(data).hexdigest()},{len(data)}\n" for name, data in held.items()
                    ).encode()
                    + f"{info}/RECORD,,\n".encode()
                )
                file = io.BytesIO()
                with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                    for name, data in held.items():
                        archive.writestr(name, data)
                yield f"{under}-{full}-{tag}.whl", file.getvalue(), metadata, stamp


if __name__ == "__main__":
    main()
