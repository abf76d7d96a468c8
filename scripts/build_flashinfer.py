"""Compile FlashInfer's AOT modules, whole or as a slice, into the tree of a flashinfer-jit-cache wheel.

Runs in a build environment that has FlashInfer 0.6 or 0.7 (or its sources on PYTHONPATH), PyTorch and ninja; fatwheel
is not needed there. Which modules there are is FlashInfer's own choice, the one that `python -m flashinfer.aot` makes.
GPU targets come from FLASHINFER_CUDA_ARCH_LIST, the compiler from CUDA_HOME. For FlashInfer 0.7, which asks for
providers, `--provider sm90a` makes the wheel of one GPU target, and `--shim` the one that finds those installed.

A module with no target in this wheel is left out, and so is one that FlashInfer compiles for a target that the list
does not hold, whatever the list says; the report names each with its reason.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import fnmatch
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ERROR_LINES = 25  # of a compiler's words that the closing message repeats

PACKAGE = '''"""Compiled FlashInfer modules; FlashInfer finds them by itself."""

from pathlib import Path

__version__ = {version!r}
__git_version__ = {git_version!r}


def get_jit_cache_dir() -> str:
    """The folder that holds MODULE/MODULE.so for each module."""
    return str(Path(__file__).parent / "jit_cache")
'''

# FlashInfer 0.7 asks its shim for providers, and reads these attributes of each (flashinfer/jit/env.py).
PROVIDER = '''"""Compiled FlashInfer modules for {provider_id}; found through flashinfer_jit_cache."""

from pathlib import Path

provider_id = {provider_id!r}
distribution = {distribution!r}
version = __version__ = {version!r}
__git_version__ = {git_version!r}
jit_cache_dir = str(Path(__file__).parent / "jit_cache")
cuda_architectures = {architectures!r}
modules = {modules!r}
'''

SHIM = '''"""The providers of compiled FlashInfer modules that are installed; FlashInfer asks for them by itself."""

import importlib
import pkgutil
import re

__version__ = {version!r}


def get_jit_cache_providers():
    """One module for each installed provider, with the attributes that FlashInfer reads."""
    form = re.compile(r"flashinfer_jit_cache_sm[0-9]+[af]?")
    names = sorted({{one.name for one in pkgutil.iter_modules() if form.fullmatch(one.name)}})
    return tuple(importlib.import_module(name) for name in names)
'''


class Failed(Exception):
    """What ends this script with a message and status 1."""


class NoTarget(RuntimeError):
    """A generator asked for targets of majors that the list has none of."""


class Deferred:
    """A call of one of FlashInfer's generators, not made yet: some download or compile when they are called."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        # FlashInfer drops repeats by this attribute.
        self.name = f"{function.__name__}{args!r}{sorted(kwargs.items())!r}"

    @property
    def plain_name(self) -> str:
        """For a module whose own name cannot be had: gen_trtllm_gen_gemm_module is trtllm_gen_gemm."""
        return re.sub(r"^gen_|_module", "", self.function.__name__)

    def __iter__(self) -> Iterator[Deferred]:
        """Where FlashInfer takes the call for a list of modules: this stands for all of them."""
        yield self

    def specs(self) -> list[Any]:
        """Make the call; some make several modules."""
        made = self.function(*self.args, **self.kwargs)
        return list(made) if isinstance(made, (list, tuple)) else [made]


class Selection(NamedTuple):
    """What FlashInfer could compile: each call once, and for which targets it would choose it."""

    modules: list[Deferred]
    chosen: set[str]  # names of the calls that it makes for the list of targets as it is
    chosen_for: dict[str, list[str]]  # by name: the targets that each alone would have it make the call


def selection(aot: Any) -> Selection:
    """FlashInfer's own choice, for this list of targets and for others. No generator is called."""
    from flashinfer.jit import attention, comm

    def defer(function: Callable[..., Any]) -> Callable[..., Deferred]:
        return lambda *args, **kwargs: Deferred(function, args, kwargs)

    kept = [(place, dict(vars(place))) for place in (aot, comm, attention)]
    capabilities = aot.detect_sm_capabilities()  # {"sm90": True, "sm100": False, ...}
    try:
        for place, names in kept:
            for name, value in names.items():
                if name.startswith("gen_") and callable(value) and value.__module__ != aot.__name__:
                    setattr(place, name, defer(value))
        own = select(aot, capabilities)
        every = select(aot, dict.fromkeys(capabilities, True))
        chosen_for: dict[str, list[str]] = {}
        for one in capabilities:
            for module in select(aot, {name: name == one for name in capabilities}):
                named = re.search(r"sm(\d+)(\d)([af]?)(?:_|$)", one)
                target = "".join((named[1], ".", named[2], named[3])) if named else one
                chosen_for.setdefault(module.name, []).append("8.x" if target == "8.0" else target)
    finally:
        for place, names in kept:
            for name, value in names.items():
                setattr(place, name, value)
    chosen = {module.name for module in own}
    return Selection([*own, *(module for module in every if module.name not in chosen)], chosen, chosen_for)


def select(aot: Any, capabilities: dict[str, bool]) -> list[Deferred]:
    """What FlashInfer's default configuration compiles where the list of targets has these."""
    config = {**aot.get_default_config(), "sm_capabilities": capabilities}
    names = list(inspect.signature(aot.gen_all_modules).parameters)
    missing = [name for name in names if name not in config and name.rstrip("_") not in config]
    if missing:
        raise Failed(f"this FlashInfer asks for settings that this script does not know: {', '.join(missing)}")
    return list(aot.gen_all_modules(**{name: config.get(name, config.get(name.rstrip("_"))) for name in names}))


def patch_targets() -> None:
    """Tell "no target of these majors" apart from every other failure."""
    from flashinfer.compilation_context import CompilationContext

    original = CompilationContext.get_nvcc_flags_list

    def flags(self: Any, *args: Any, **kwargs: Any) -> list[str]:
        try:
            return list(original(self, *args, **kwargs))
        except RuntimeError as error:
            raise NoTarget(str(error)) from error

    CompilationContext.get_nvcc_flags_list = flags


def names_of(modules: list[Deferred], patterns: list[str]) -> list[list[str]]:
    """The names of what each call makes, found in a child process: calling a generator leaves traces.

    Nothing is downloaded and no compiler is run; a generator that cannot do without is named after itself. Where all
    ``patterns`` are names, it ends when they are found, and what it did not come to has no name.
    """
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(receive)
            try:
                answer = json.dumps(_names(modules, patterns))
            except Exception as error:  # noqa: BLE001  # it is raised again on the other side
                answer = json.dumps(f"{type(error).__name__}: {error}")
            with os.fdopen(send, "w", encoding="utf-8") as pipe:
                pipe.write(answer)
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    found = json.loads(text) if text else "the process that lists them died"
    if isinstance(found, str):
        raise Failed(f"FlashInfer's modules could not be listed: {found}")
    return list(found)


def _names(modules: list[Deferred], patterns: list[str]) -> list[list[str]]:
    import logging

    from flashinfer.compilation_context import CompilationContext

    logging.disable(logging.CRITICAL)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.environ.update(PATH="", FLASHINFER_NO_DOWNLOAD="1")
    os.environ.pop("CUDA_PATH", None)
    # Every generator names its module, also one that has no target in this list.
    CompilationContext.get_nvcc_flags_list = lambda *_, **__: []
    found: list[list[str]] = [[] for _ in modules]
    sought = {*patterns} if patterns and not any(set("*?[") & set(pattern) for pattern in patterns) else None
    words = set(re.findall(r"[a-z0-9]+", " ".join(patterns)))
    order = sorted(range(len(modules)), key=lambda at: -len(words & set(re.findall(r"[a-z0-9]+", modules[at].name))))
    for at in order:
        try:
            found[at] = [spec.name for spec in modules[at].specs()]
        except Exception:  # noqa: BLE001  # whatever a generator lacks here, it is called again in earnest, if chosen
            found[at] = [modules[at].plain_name]
        if sought is not None and sought <= {name for names in found for name in names}:
            break
    return found


def has_device_code(spec: Any) -> bool:
    """Whether nvcc compiles any of a module's sources."""
    return any(Path(source).suffix == ".cu" for source in spec.sources)


def targets_of(spec: Any) -> list[str]:
    """The targets in a module's own compiler flags; empty if it takes the list as it is."""
    flags = " ".join(spec.extra_cuda_cflags or [])
    found = {(int(m), int(n), s) for m, n, s in re.findall(r"code=sm_(\d+)(\d)([af]?)", flags)}
    return [f"{major}.{minor}{suffix}" for major, minor, suffix in sorted(found)]


def check_names(names: list[list[str]], patterns: list[str]) -> None:
    """Raise `Failed` for names that mean nothing, with those that are nearest and all that there are."""
    known = sorted({name for some in names for name in some})
    unknown = [pattern for pattern in patterns if not fnmatch.filter(known, pattern)]
    if unknown:
        lines = []
        for pattern in unknown:
            near = difflib.get_close_matches(pattern, known, n=3, cutoff=0.5)
            meant = f"; did you mean {', '.join(near)}?" if near else ""
            lines.append(f"there is no module '{pattern}'{meant}")
        raise Failed(
            "\n".join([f"FlashInfer has these {len(known)} modules:", *(f"  {name}" for name in known), *lines])
        )


def chosen_specs(offered: Selection, patterns: list[str], declared: list[str]) -> tuple[list[Any], dict[str, str]]:
    """The modules to compile, and the reasons for those left out, by name."""
    names = names_of(offered.modules, patterns)
    check_names(names, patterns)
    specs: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    here = f"and this wheel is for {' '.join(declared)}"
    for module, some in zip(offered.modules, names):  # noqa: B905  # strict= came with Python 3.10
        wanted = [name for name in some if not patterns or any(fnmatch.fnmatchcase(name, one) for one in patterns)]
        if not wanted:
            continue
        made, reason = prepared_or_not(offered, module, wanted[0])
        for name in wanted if reason else ():
            left_out.setdefault(name, f"{reason}, {here}")
        for spec in made:
            if len(some) > 1 and spec.name not in wanted:
                continue
            foreign = [target for target in targets_of(spec) if target not in declared]
            if foreign:
                always = f"FlashInfer compiles it for {' '.join(foreign)} whatever the list says"
                left_out.setdefault(spec.name, f"{always}, {here}")
            else:
                specs.setdefault(spec.name, spec)
    return list(specs.values()), {name: reason for name, reason in left_out.items() if name not in specs}


def prepared_or_not(offered: Selection, module: Deferred, name: str) -> tuple[list[Any], str]:
    """What FlashInfer compiles for a call, or why nothing for this list. Raises `Failed` for every other failure."""
    if module.name not in offered.chosen:
        targets = ", ".join(offered.chosen_for.get(module.name, ["other GPUs"]))
        return [], f"FlashInfer selects it for {targets} only"
    try:
        return module.specs(), ""
    except NoTarget as error:
        return [], str(error).rstrip(".")
    except Exception as error:
        raise Failed(f"FlashInfer cannot prepare {name}: {type(error).__name__}: {error}") from error


def compile_modules(specs: list[Any], folder: Path, jobs: int) -> dict[str, float]:
    """Compile with ninja, one line of progress a file. The seconds of compiler time that each module took.

    Raises `Failed` with the compiler's words.
    """
    for spec in specs:
        spec.write_ninja()
    listing = folder / "fatwheel.ninja"
    lines = ["ninja_required_version = 1.3", *(f"subninja {spec.ninja_path}" for spec in specs), ""]
    listing.write_text("\n".join(lines), encoding="utf-8")
    command = ["ninja", "-C", str(folder), "-f", str(listing), "-j", str(jobs)]
    try:
        ninja = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except FileNotFoundError:
        raise Failed("there is no ninja on PATH; add ninja to what the build environment requires") from None
    assert ninja.stdout is not None  # noqa: S101  # it was started with a pipe
    failed, words = watched(ninja.stdout, folder)
    if ninja.wait() != 0:
        names = sorted({short(path, folder).split("/")[0] for path in failed})
        what = f"{', '.join(names)} did not compile" if names else f"ninja ended with status {ninja.returncode}"
        raise Failed("\n".join([what, *(f"  {line}" for line in words[:ERROR_LINES])]))
    return seconds_of(folder)


def watched(output: Iterable[str], folder: Path) -> tuple[list[str], list[str]]:
    """Show ninja's output with its commands cut short; the outputs that failed, and the compiler's words on them."""
    failed: list[str] = []
    words: list[str] = []
    in_words = False
    for line in output:
        shown = line
        step = re.match(r"\[(\d+/\d+)\] ", line)
        failure = re.match(r"FAILED: (?:\[.*?\] )?(\S+)", line)
        if step:
            in_words = False
            built = re.search(r" -o (\S+)", line)
            shown = f"[{step[1]}] {short(built[1], folder)}\n" if built else line
        elif failure:
            in_words = True
            failed.append(failure[1])
        elif line.startswith("ninja: "):
            in_words = False
        elif in_words and line.strip() and " -o " not in line:
            words.append(line.rstrip("\n"))
        print(shown, end="", flush=True)
    return failed, words


def short(path: str, folder: Path) -> str:
    """``page/csrc_page.cuda.o``: an output below the folder of modules."""
    return os.path.relpath(path, folder) if Path(path).is_absolute() else path


def seconds_of(folder: Path) -> dict[str, float]:
    """Compiler time by module, from ninja's log: start and end in milliseconds, and the output, tab by tab."""
    found: dict[str, float] = {}
    for line in (folder / ".ninja_log").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            start, end, _, output = line.split("\t")[:4]
            name = short(output, folder).split("/")[0]
            found[name] = found.get(name, 0.0) + (int(end) - int(start)) / 1000
    return found


def write_tree(out: Path, specs: list[Any], version: str, git_version: str, provider: str = "") -> None:
    """The package as FlashInfer 0.6 looks for it, or as one provider of 0.7, in site-packages layout."""
    name = f"flashinfer_jit_cache_{provider}" if provider else "flashinfer_jit_cache"
    package = out / name
    package.mkdir(parents=True)
    about = {"version": version, "git_version": git_version}
    if provider:
        about |= {"provider_id": provider, "distribution": name.replace("_", "-"), "architectures": (provider,),
                  "modules": tuple(sorted(spec.name for spec in specs))}  # fmt: skip
    text = (PROVIDER if provider else PACKAGE).format(**about)
    (package / "__init__.py").write_text(text, encoding="utf-8")
    for spec in specs:
        place = package / "jit_cache" / spec.name
        place.mkdir(parents=True)
        shutil.copy2(spec.jit_library_path, place / f"{spec.name}.so")


def write_shim(out: Path, version: str) -> None:
    """The package that finds providers."""
    package = out / "flashinfer_jit_cache"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(SHIM.format(version=version), encoding="utf-8")


@contextlib.contextmanager
def folder_of_its_own() -> Iterator[str]:
    """A new folder, of the same name each time where TMPDIR is this build's alone: compiler caches see its path."""
    place = Path(tempfile.gettempdir(), "flashinfer")
    try:
        place.mkdir()
    except FileExistsError:
        with tempfile.TemporaryDirectory(prefix="flashinfer-") as name:
            yield name
        return
    try:
        yield str(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """A folder for FlashInfer's outputs, also the current one: some generators write there."""
    with folder_of_its_own() as name:
        os.environ["FLASHINFER_WORKSPACE_BASE"] = name
        # FlashInfer does not read LDFLAGS. Some modules use dlopen: by -ldl, of the glibc that LDFLAGS leads to.
        flags = [os.environ.get("FLASHINFER_EXTRA_LDFLAGS"), os.environ.get("LDFLAGS"), "-Wl,--as-needed", "-ldl"]
        os.environ["FLASHINFER_EXTRA_LDFLAGS"] = " ".join(flag for flag in flags if flag)
        before = Path.cwd()
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def build(options: argparse.Namespace) -> None:
    """Select, compile, write the tree, then the report."""
    arch_list = os.environ.get("FLASHINFER_CUDA_ARCH_LIST", "")
    if not re.fullmatch(r"\d+\.\d[af]?( \d+\.\d[af]?)*", arch_list):
        raise Failed(f"FLASHINFER_CUDA_ARCH_LIST is '{arch_list}'; write it like '8.0 9.0a 12.0f', with single spaces")
    try:
        from flashinfer import aot
        from flashinfer.jit import env
        from flashinfer.version import __git_version__, __version__
    except ImportError as error:
        raise Failed(f"FlashInfer cannot be imported: {error}; add what it lacks to the build environment") from error
    if not options.version.startswith(__version__):
        print(f"warning: FlashInfer {__version__} will not accept a wheel of version {options.version}", flush=True)
    patch_targets()
    for folder in (env.FLASHINFER_JIT_DIR, env.FLASHINFER_GEN_SRC_DIR):
        folder.mkdir(parents=True, exist_ok=True)
    patterns = [name for name in options.modules.split(",") if name]
    targets = arch_list.split()
    specs, left_out = chosen_specs(selection(aot), patterns, targets)
    for name, reason in left_out.items():
        print(f"left out: {name}: {reason}", flush=True)
    if not specs:
        raise Failed("no module is left to compile")
    print(f"{len(specs)} modules for {arch_list}, {options.jobs} jobs", flush=True)
    seconds = compile_modules(specs, env.FLASHINFER_JIT_DIR, options.jobs)
    write_tree(options.out, specs, options.version, __git_version__, options.provider)
    if options.report:
        report = {
            "modules": [
                {
                    "name": spec.name,
                    "targets": (targets_of(spec) or targets) if has_device_code(spec) else [],
                    "seconds": round(seconds.get(spec.name, 0.0), 2),
                }
                for spec in specs
            ],
            "left_out": [{"name": name, "reason": reason} for name, reason in left_out.items()],
        }
        options.report.write_text(json.dumps(report, indent=1), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Compile FlashInfer's AOT modules into the tree of a wheel.")
    parser.add_argument(
        "--out", type=lambda text: Path(text).resolve(), required=True, help="an empty folder, or none yet"
    )
    parser.add_argument("--version", required=True, help="the wheel's version, with its local label")
    parser.add_argument("--modules", default="", help="names or globs, separated by commas; empty for all")
    parser.add_argument("--report", type=lambda text: Path(text).resolve(), help="where the JSON report goes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compilers side by side")
    parser.add_argument("--provider", default="", metavar="SM90A", help="a provider of FlashInfer 0.7 for one target")
    parser.add_argument("--shim", action="store_true", help="compile nothing: the package that finds the providers")
    options = parser.parse_args(arguments)
    if options.shim:
        write_shim(options.out, options.version)
        return 0
    try:
        with workspace():
            build(options)
    except Failed as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
