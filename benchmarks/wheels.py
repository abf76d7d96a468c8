"""Read and repack NVIDIA wheels; compare with cuobjdump, unzip and `wheel pack`.

``python benchmarks/wheels.py [--rounds 5] [--folder DIR] [WHEEL ...]`` prints wall seconds (the best of all
rounds), memory and ratios, on two cores. Wheels are requirements with an exact version, downloaded with pip to a folder
(kept with ``--folder``). cuobjdump comes from NVIDIA's wheel on PyPI; unzip and `wheel` must be installed. The files
are in the page cache. As in an installed package, modules are compiled to bytecode before the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "pipeline")]

from fatwheel.sizes import size  # noqa: E402 - from this checkout
from fatwheel.wheels.reading.inventory import read_inventory  # noqa: E402

CUOBJDUMP = "nvidia-cuda-cuobjdump==13.5.37"
WHEELS = ("nvidia-cusparselt-cu13==0.10.0", "nvidia-nccl-cu13==2.32.3")
CORES = 2


@dataclass(frozen=True)
class Measurement:
    """Wall and CPU seconds, and peak memory in bytes."""

    seconds: float
    cpu: float = 0.0
    memory: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheels", nargs="*", default=WHEELS, metavar="WHEEL")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(place / "bytecode")
        folder = options.folder or place / "wheels"
        cuobjdump = extract_cuobjdump(download(CUOBJDUMP, folder), place)
        for requirement in options.wheels:
            wheel = download(requirement, folder)
            print(f"\n{wheel.name}: {size(wheel.stat().st_size)}")
            measure_reading(wheel, cuobjdump, place, options.rounds)
            measure_packing(wheel, place, max(1, options.rounds // 2))


def download(requirement: str, folder: Path) -> Path:
    """Download the wheel of a requirement, unless the folder contains it."""
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), requirement]
        subprocess.run(command, check=True)
    (wheel,) = folder.glob(pattern)
    return wheel


def extract_cuobjdump(wheel: Path, place: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("bin/cuobjdump")]
        found = Path(archive.extract(name, place))
    found.chmod(0o755)
    return found


def measure_reading(wheel: Path, cuobjdump: Path, place: Path, rounds: int) -> None:
    """Read the largest library with the reader alone and with the whole command; then the whole wheel."""
    modules = json.loads(output("inventory", "--json", str(wheel)))[0]["modules"]
    largest = max(modules, key=lambda module: int(module["file_bytes"]))
    packed, raw = largest["wheel_bytes"], largest["file_bytes"]
    unpacked = place / "unpacked"
    unzip = ["unzip", "-qq", "-o", str(wheel), "-d", str(unpacked)]
    run(unzip)
    library = unpacked / largest["name"]
    print(f"{largest['name']}: {size(raw)}")

    listing = [str(cuobjdump), "-lelf", str(library)]
    other = best(rounds, lambda: run(listing))
    show("cuobjdump -lelf", other)
    show("reader alone", best(rounds, lambda: run_here(lambda: read_inventory(library))), other)
    show("fatwheel inventory LIBRARY", best(rounds, lambda: fatwheel("inventory", str(library))), other)

    code = [module["name"] for module in modules if module["targets"]]

    def unzip_and_list() -> Measurement:
        shutil.rmtree(unpacked)
        steps = [run(unzip), *(run([str(cuobjdump), "-lelf", str(unpacked / name)]) for name in code)]
        return Measurement(
            sum(step.seconds for step in steps),
            sum(step.cpu for step in steps),
            max(step.memory for step in steps),
        )

    both = best(rounds, unzip_and_list)
    show(f"unzip, cuobjdump ({len(code)} files)", both)
    ours = best(rounds, lambda: fatwheel("inventory", str(wheel)))
    show("fatwheel inventory WHEEL", ours, both)
    print(f"  its memory is {ours.memory / raw:.2f} times the size of the largest file, and "
          f"{ours.memory / (raw + packed):.2f} times its compressed and uncompressed size")  # fmt: skip
    shutil.rmtree(unpacked)


def measure_packing(wheel: Path, place: Path, rounds: int) -> None:
    """Repack the wheel; compare with `wheel pack` of the unpacked files."""
    tree, out = place / "tree", place / "out"
    run([sys.executable, "-m", "wheel", "unpack", str(wheel), "-d", str(tree)])
    (files,) = tree.iterdir()

    def fresh(pack: Callable[[], Measurement]) -> Callable[[], Measurement]:
        def packed() -> Measurement:
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            return pack()

        return packed

    other = best(rounds, fresh(lambda: run([sys.executable, "-m", "wheel", "pack", str(files), "-d", str(out)])))
    other_size = wheel_size(out)
    show("wheel pack", other)
    ours = best(rounds, fresh(lambda: fatwheel("repack", str(wheel), "-o", str(out))))
    show("fatwheel repack", ours, other)
    print(f"  {wheel_size(out):,} bytes, `wheel pack` {other_size:,}, ratio {wheel_size(out) / other_size:.4f}")
    shutil.rmtree(tree)
    shutil.rmtree(out)


def wheel_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.whl"))


def output(*arguments: str) -> str:
    """Return the output of `fatwheel`, in a new process because child processes inherit the memory of this one."""
    command = [sys.executable, "-m", "fatwheel", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def fatwheel(*arguments: str) -> Measurement:
    return run([sys.executable, "-m", "fatwheel", *arguments])


def run(command: list[str]) -> Measurement:
    """Run and measure one process."""
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            sys.exit(f"{' '.join(command)}: {process.returncode}\n{errors.read().decode(errors='replace')[-2000:]}")
    return Measurement(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def run_here(work: Callable[[], object]) -> Measurement:
    """Measure work in this process, which has imported the modules."""
    start = time.perf_counter()
    work()
    return Measurement(time.perf_counter() - start)


def best(rounds: int, work: Callable[[], Measurement]) -> Measurement:
    found = [work() for _ in range(rounds)]
    return Measurement(*(min(values) for values in zip(*map(astuple, found), strict=True)))


def show(label: str, measured: Measurement, other: Measurement | None = None) -> None:
    used = f"{measured.cpu:8.2f} s CPU {size(measured.memory):>10}" if measured.memory else " " * 25
    ratio = f"  {other.seconds / measured.seconds:.1f} times as fast" if other else ""
    print(f"  {label:32} {measured.seconds:8.3f} s {used}{ratio}", flush=True)


if __name__ == "__main__":
    main()
