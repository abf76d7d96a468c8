"""Build an index of 10,000 wheels: from scratch, without changes, and with 12 new wheels; compare with other tools.

``python benchmarks/index.py [--wheels 10000] [--rounds 3]`` prints wall and CPU seconds of whole processes, the best of
all rounds. simple503 and dumb-pypi are measured if they are installed. All tools read the same files: small wheels with
METADATA and fatwheel.json, and their ``.metadata`` files. The releases have manifests first, as written by fatwheel;
then they have none, and fatwheel has to open every wheel. As in an installed package, modules are compiled to bytecode
once.
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
WHEELS_PER_VERSION = len(CUDA) * len(FAMILIES) * len(ARCHES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        made = fill(place / "store", options.wheels)
        print(f"{made} wheels in {len(list((place / 'store').iterdir()))} releases")
        measure_fatwheel(place, options.rounds, "")
        for manifest in (place / "store").glob("*/manifest.json"):
            manifest.unlink()
        measure_fatwheel(place, options.rounds, ", no manifests")
        measure_others(place, options.rounds)


def measure_fatwheel(place: Path, rounds: int, how: str) -> None:
    store, out = f"dir:{place / 'store'}", str(place / "index")
    command = [sys.executable, "-m", "fatwheel", "index", "--store", store, "-o", out]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env |= {"FATWHEEL_CACHE": str(place / "cache"), "PYTHONPYCACHEPREFIX": str(place / "bytecode")}

    def fresh() -> None:
        shutil.rmtree(place / "index", ignore_errors=True)
        shutil.rmtree(place / "cache", ignore_errors=True)

    def add_version() -> None:
        release(place / "store", PROJECTS[0], next(VERSIONS))
        if how:
            for manifest in (place / "store").glob("*/manifest.json"):
                manifest.unlink()

    show(f"fatwheel, from scratch{how}", *best(rounds, command, env, fresh))
    show(f"fatwheel, no changes{how}", *best(rounds, command, env, lambda: None))
    show(f"fatwheel, {WHEELS_PER_VERSION} new wheels{how}", *best(rounds, command, env, add_version))


def measure_others(place: Path, rounds: int) -> None:
    """Measure other tools, with the same wheels in one folder."""
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
        print(f"{'':42} plus {hashing:.2f} s to hash the files for the list; it reads no wheels")


def clean(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def best(rounds: int, command: list[str], env: dict[str, str], before: Callable[[], object]) -> tuple[float, float]:
    """Return the least wall and CPU seconds of ``rounds`` processes; ``before`` runs before each."""
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
    return min(wall for wall, _ in took), min(cpu for _, cpu in took)


def show(label: str, wall: float, cpu: float) -> None:
    print(f"{label:42} {wall:7.2f} s   {cpu:7.2f} s CPU time", flush=True)


def fill(store: Path, minimum: int) -> int:
    made = version = 0
    while made < minimum:
        made += sum(release(store, project, version) for project in PROJECTS)
        version += 1
    return made


def release(store: Path, project: str, number: int) -> int:
    """Write the release of one version: twelve wheels with their metadata and a manifest."""
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
    return WHEELS_PER_VERSION


def built(asset: dict[str, object], stamp: dict[str, object]) -> dict[str, object]:
    """The build record of an asset in a manifest."""
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
