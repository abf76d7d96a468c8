"""Compile the kernels and create the package as in site-packages.

    CUDA_HOME=/usr/local/cuda python build.py --out out --targets "8.0 9.0a" --version 0.1.0

fatwheel runs this for each cell of matrix.yaml and packs the folder --out. It requires Python 3.9 or later and
no other packages. The same sources, targets, version and compilers produce identical files in any folder.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = tuple(sorted(path.stem for path in (HERE / "kernels").glob("*.cu")))

_TARGET = re.compile(r"(\d{1,2})\.(\d)([af]?)(\+PTX)?")
# ELF's e_machine, the two bytes at offset 18.
_MACHINES = {"x86_64": 62, "aarch64": 183}
# Export only the C ABI of a module; its CUDA runtime and everything else stay private.
_EXPORTS = "{ global: mk_*; local: *; };\n"
_VERSION_FILE = '''"""How this copy was built; written by build.py."""

__version__ = "{version}"
targets = "{targets}"
'''


class Failure(Exception):
    """A failed build: the cause and, if known, how to fix it."""


def gencode(target: str) -> str:
    """Return nvcc's flag for one target: machine code for 9.0a, also PTX for 9.0+PTX. Raises `Failure`."""
    match = _TARGET.fullmatch(target)
    if not match:
        raise Failure(f"invalid GPU target '{target}'; use e.g. 9.0a, 12.0f or 9.0+PTX")
    name = "".join(match.group(1, 2, 3))
    code = f"[compute_{name},sm_{name}]" if match[4] else f"sm_{name}"
    return f"-gencode=arch=compute_{name},code={code}"


def find_nvcc(environment: dict[str, str]) -> Path:
    """Return the nvcc of ``CUDA_HOME``. Raises `Failure`."""
    home = environment.get("CUDA_HOME")
    if not home:
        raise Failure("CUDA_HOME is not set; set it to a CUDA toolkit, for example /usr/local/cuda")
    nvcc = Path(home, "bin", "nvcc").absolute()
    if not os.access(nvcc, os.X_OK):
        raise Failure(f"{nvcc} not found; set CUDA_HOME to a CUDA toolkit with a compiler")
    return nvcc


def find_host_compiler(environment: dict[str, str], arch: str) -> str:
    """Return the C++ compiler for ``arch``: NVCC_CCBIN, else CXX, else g++ or a cross compiler. Raises `Failure`."""
    native = arch == platform.machine()
    named = environment.get("NVCC_CCBIN") or environment.get("CXX")
    compiler = named or ("g++" if native else f"{arch}-linux-gnu-g++")
    if Path(compiler).is_dir():  # nvcc also accepts a folder
        compiler = str(Path(compiler, "g++"))
    found = shutil.which(compiler, path=environment.get("PATH"))
    if not found:
        package = "g++" if native else f"g++-{arch.replace('_', '-')}-linux-gnu"
        raise Failure(f"host compiler {compiler} for {arch} not found; install it (Debian: {package}) or set CXX")
    return found


@dataclass
class Compilation:
    """The settings that all modules of one build share."""

    nvcc: Path
    host_compiler: str
    arch: str
    targets: list[str]
    compress_mode: str | None
    scratch: Path  # contains exports.map and the temporary files of compilers
    launcher: str = ""  # a program that runs the compiler, e.g. sccache
    running: set[subprocess.Popen[str]] = field(default_factory=set)

    def compile_command(self, module: str, item: Path) -> list[str]:
        """Return the nvcc command that compiles a module; a compiler cache may run it."""
        return [
            *([self.launcher] if self.launcher else []),
            str(self.nvcc), "-O3", "-std=c++17", "-ccbin", self.host_compiler,
            *map(gencode, self.targets),
            *([f"--compress-mode={self.compress_mode}"] if self.compress_mode else []),
            "-Xcompiler", "-fPIC,-fvisibility=hidden,-Wall",
            "-c", f"{module}.cu", "-o", str(item),
        ]  # fmt: skip

    def link_command(self, item: Path, output: Path) -> list[str]:
        """Return the nvcc command that links the library."""
        return [
            str(self.nvcc), "-shared", "-cudart", "static", "-ccbin", self.host_compiler,
            # Keep the library independent of this machine: no build ID, no symbols with temporary names, and no device
            # link, which whole-program code does not need and which records its own command line.
            "-nodlink", "-Xlinker", "-s,--build-id=none,--as-needed",
            "-Xlinker", f"--version-script={self.scratch / 'exports.map'}",
            str(item), "-o", str(output),
        ]  # fmt: skip

    def compile(self, module: str, output: Path) -> float:
        """Compile one module and return the time in seconds. Raises `Failure` with the compiler's output."""
        start = time.monotonic()
        item = self.scratch / f"{module}.o"
        for command in (self.compile_command(module, item), self.link_command(item, output)):
            self.run(module, command)
        item.unlink()
        self.check_machine(module, output)
        return time.monotonic() - start

    def run(self, module: str, command: list[str]) -> None:
        """Run a compiler. Raises `Failure` with its output."""
        process = subprocess.Popen(
            command,
            cwd=HERE / "kernels",
            env={**os.environ, "TMPDIR": str(self.scratch)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self.running.add(process)
        output, _ = process.communicate()
        self.running.discard(process)
        if process.returncode != 0:
            raise Failure(f"{module}.cu: nvcc exited with code {process.returncode}\n{output.strip()}")
        if output.strip():
            print(output.rstrip(), flush=True)

    def check_machine(self, module: str, output: Path) -> None:
        """Check the CPU architecture of the library. Raises `Failure`."""
        with output.open("rb") as file:
            machine = int.from_bytes(file.read(20)[18:20], "little")
        if machine != _MACHINES[self.arch]:
            made = {number: name for name, number in _MACHINES.items()}.get(machine, f"machine {machine}")
            raise Failure(
                f"{module}: {self.host_compiler} generated code for {made}, not {self.arch}; "
                f"set CXX to a compiler for {self.arch}"
            )

    def stop(self) -> None:
        """Stop the running compilers."""
        for process in list(self.running):
            process.terminate()


def compile_all(compilation: Compilation, modules: list[str], lib: Path, jobs: int) -> dict[str, float]:
    """Compile modules in parallel and return seconds by module. Raises `Failure` with every module that failed."""
    seconds: dict[str, float] = {}
    failures: list[str] = []
    with ThreadPoolExecutor(jobs) as pool:
        waiting: dict[Future[float], str] = {
            pool.submit(compilation.compile, module, lib / f"{module}.so"): module for module in modules
        }
        try:
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    module = waiting.pop(future)
                    try:
                        seconds[module] = future.result()
                    except Failure as failure:
                        failures.append(str(failure))
                    else:
                        size = (lib / f"{module}.so").stat().st_size
                        shown = (
                            f"[{len(seconds)}/{len(modules)}] {module}: {seconds[module]:.1f} s, {size / 2**20:.2f} MiB"
                        )
                        print(shown, flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            compilation.stop()
            raise
    if failures:
        raise Failure("\n".join(failures))
    return dict(sorted(seconds.items()))


def write_package(package: Path, version: str, targets: list[str]) -> None:
    """Copy the Python files, and write the file with the version and the targets."""
    shutil.copytree(HERE / "minikernels", package, ignore=shutil.ignore_patterns("__pycache__", "_version.py", "lib"))
    (package / "_version.py").write_text(
        _VERSION_FILE.format(version=version, targets=" ".join(targets)), encoding="utf-8"
    )
    (package / "lib").mkdir()


def publish(package: Path, place: Path) -> None:
    """Rename a finished package to its final name, replacing an older one."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        old = package.with_name("old")
        place.rename(old)
    package.rename(place)


def build(arguments: argparse.Namespace) -> None:
    """Build everything. Raises `Failure` and then leaves --out unchanged."""
    targets = arguments.targets.split()
    for target in targets:
        gencode(target)
    if not targets:
        raise Failure("no targets; use --targets, e.g. --targets 9.0a")
    out = Path(arguments.out).absolute()
    environment = dict(os.environ)
    nvcc, host = find_nvcc(environment), find_host_compiler(environment, arguments.arch)
    modules = sorted({"runtime", *(arguments.only or MODULES)})
    print(f"{len(modules)} modules for {' '.join(targets)} on {arguments.arch}, {arguments.jobs} jobs", flush=True)

    out.mkdir(parents=True, exist_ok=True)
    # Beside the result, so that the last step is a rename within one file system.
    with tempfile.TemporaryDirectory(dir=out, prefix=".build-") as scratch_name:
        scratch = Path(scratch_name)
        (scratch / "exports.map").write_text(_EXPORTS, encoding="utf-8")
        package = scratch / "minikernels"
        write_package(package, arguments.version, targets)
        compilation = Compilation(
            nvcc, host, arguments.arch, targets, arguments.compress_mode, scratch, arguments.launcher
        )
        seconds = compile_all(compilation, modules, package / "lib", arguments.jobs)
        publish(package, out / "minikernels")
    if arguments.report:
        write_report(Path(arguments.report), targets, seconds)


def write_report(path: Path, targets: list[str], seconds: dict[str, float]) -> None:
    """Write the report that fatwheel reads."""
    built = [{"name": name, "targets": targets, "seconds": round(spent, 2)} for name, spent in seconds.items()]
    unfinished = path.with_name(f".{path.name}.part")
    unfinished.write_text(json.dumps({"modules": built, "excluded_modules": []}, indent=2) + "\n", encoding="utf-8")
    unfinished.replace(path)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Compile minikernels into a tree in site-packages layout.")
    parser.add_argument("--out", required=True, help="output folder of minikernels/")
    parser.add_argument("--targets", required=True, help='GPU targets, separated by spaces: "8.0 9.0a"')
    parser.add_argument("--version", required=True, help="version, with the local version label if any")
    machine = platform.machine()
    parser.add_argument("--arch", choices=sorted(_MACHINES), default=machine, help=f"CPU (default: {machine})")
    parser.add_argument("--report", help="write a JSON report to this file")
    parser.add_argument(
        "--jobs", type=_positive, default=os.cpu_count() or 1, help="number of modules to compile in parallel"
    )
    parser.add_argument(
        "--only",
        type=_modules,
        default=[],
        metavar="MODULE,...",
        help=f"build only these modules, and runtime, which all need; empty: all ({', '.join(MODULES)})",
    )
    parser.add_argument("--launcher", default="", help="program that runs nvcc, e.g. sccache; empty: none")
    parser.add_argument(
        "--compress-mode",
        choices=("size", "balance", "speed", "none"),
        help="nvcc --compress-mode; fatwheel passes that of matrix.yaml in NVCC_APPEND_FLAGS",
    )
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def _modules(text: str) -> list[str]:
    named = [name for name in text.split(",") if name]
    unknown = [name for name in named if name not in MODULES]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown module {', '.join(unknown)}; choose from {', '.join(MODULES)}")
    return named


def main(arguments: list[str] | None = None) -> int:
    """Return the exit code: 0 success, 1 build failed, 2 invalid arguments, 130 interrupted."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C, so that no partial files are left
    try:
        build(parse(arguments))
    except Failure as failure:
        print(f"build.py: {failure}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"build.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("build.py: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
