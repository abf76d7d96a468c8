"""Compile FlashInfer's AOT modules, all or some, into the tree of a flashinfer-jit-cache wheel.

The script runs in a build environment with FlashInfer 0.6 or 0.7 (or its sources on PYTHONPATH), PyTorch and ninja;
fatwheel is not required. FlashInfer selects the modules, as in `python -m flashinfer.aot`. GPU targets come from
FLASHINFER_CUDA_ARCH_LIST, the compiler from CUDA_HOME. For FlashInfer 0.7, which uses provider wheels,
`--provider sm90a` creates the wheel of one GPU target, and `--shim` the one that finds the installed providers.

Modules without a target in this wheel are excluded, and so are modules that FlashInfer always compiles for a target
outside the list; the report contains the reason of each.
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

ERROR_LINES = 25  # of compiler output to repeat in the final message

PACKAGE = '''"""Compiled FlashInfer modules; FlashInfer finds them by itself."""

from pathlib import Path

__version__ = {version!r}
__git_version__ = {git_version!r}


def get_jit_cache_dir() -> str:
    """The folder that contains MODULE/MODULE.so for each module."""
    return str(Path(__file__).parent / "jit_cache")
'''

# FlashInfer 0.7 gets the providers from its shim and reads these attributes of each (flashinfer/jit/env.py).
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

SHIM = '''"""The installed providers of compiled FlashInfer modules; FlashInfer finds them by itself."""

import importlib
import pkgutil
import re

__version__ = {version!r}


def get_jit_cache_providers():
    """Return one module per installed provider, with the attributes that FlashInfer reads."""
    form = re.compile(r"flashinfer_jit_cache_sm[0-9]+[af]?")
    names = sorted({{one.name for one in pkgutil.iter_modules() if form.fullmatch(one.name)}})
    return tuple(importlib.import_module(name) for name in names)
'''


class BuildFailure(Exception):
    """An error that ends this script with a message and exit code 1."""


class NoTarget(RuntimeError):
    """A generator requires targets of GPU generations that the target list does not contain."""


class Deferred:
    """A deferred call of a FlashInfer generator: some generators download or compile when called."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        # FlashInfer drops duplicates by this attribute.
        self.name = f"{function.__name__}{args!r}{sorted(kwargs.items())!r}"

    @property
    def plain_name(self) -> str:
        """The name for a module whose own name is unknown: trtllm_gen_gemm for gen_trtllm_gen_gemm_module."""
        return re.sub(r"^gen_|_module", "", self.function.__name__)

    def __iter__(self) -> Iterator[Deferred]:
        """FlashInfer iterates over calls that return several modules: yield this one for all of them."""
        yield self

    def make_specs(self) -> list[Any]:
        """Call the generator; some return several modules."""
        made = self.function(*self.args, **self.kwargs)
        return list(made) if isinstance(made, (list, tuple)) else [made]


class Selection(NamedTuple):
    """The modules that FlashInfer can compile: each generator call once, and the targets that select it."""

    modules: list[Deferred]
    chosen: set[str]  # names of the calls that the target list selects
    chosen_for: dict[str, list[str]]  # by name: the targets that select the call on their own


def select_modules(aot: Any) -> Selection:
    """Return FlashInfer's selection for this target list and for others, without calling any generator."""
    from flashinfer.jit import attention, comm

    def defer(function: Callable[..., Any]) -> Callable[..., Deferred]:
        return lambda *args, **kwargs: Deferred(function, args, kwargs)

    originals = [(module, dict(vars(module))) for module in (aot, comm, attention)]
    capabilities = aot.detect_sm_capabilities()  # {"sm90": True, "sm100": False, ...}
    try:
        for module, names in originals:
            for name, value in names.items():
                if name.startswith("gen_") and callable(value) and value.__module__ != aot.__name__:
                    setattr(module, name, defer(value))
        own = list_calls(aot, capabilities)
        every = list_calls(aot, dict.fromkeys(capabilities, True))
        chosen_for: dict[str, list[str]] = {}
        for one in capabilities:
            for call in list_calls(aot, {name: name == one for name in capabilities}):
                named = re.search(r"sm(\d+)(\d)([af]?)(?:_|$)", one)
                target = "".join((named[1], ".", named[2], named[3])) if named else one
                chosen_for.setdefault(call.name, []).append("8.x" if target == "8.0" else target)
    finally:
        for module, names in originals:
            for name, value in names.items():
                setattr(module, name, value)
    chosen = {module.name for module in own}
    return Selection([*own, *(module for module in every if module.name not in chosen)], chosen, chosen_for)


def list_calls(aot: Any, capabilities: dict[str, bool]) -> list[Deferred]:
    """Return the calls of FlashInfer's default configuration for these capabilities. Raises `BuildFailure`."""
    config = {**aot.get_default_config(), "sm_capabilities": capabilities}
    names = list(inspect.signature(aot.gen_all_modules).parameters)
    missing = [name for name in names if name not in config and name.rstrip("_") not in config]
    if missing:
        raise BuildFailure(f"this FlashInfer version requires unknown settings: {', '.join(missing)}")
    return list(aot.gen_all_modules(**{name: config.get(name, config.get(name.rstrip("_"))) for name in names}))


def patch_targets() -> None:
    """Make "no target of these majors" distinguishable from every other failure."""
    from flashinfer.compilation_context import CompilationContext

    original = CompilationContext.get_nvcc_flags_list

    def flags(self: Any, *args: Any, **kwargs: Any) -> list[str]:
        try:
            return list(original(self, *args, **kwargs))
        except RuntimeError as error:
            raise NoTarget(str(error)) from error

    CompilationContext.get_nvcc_flags_list = flags


def list_names(modules: list[Deferred], patterns: list[str]) -> list[list[str]]:
    """List the module names of each call in a child process, because generators have side effects.

    Nothing is downloaded or compiled; a module whose generator fails without that gets the generator's name. If all
    ``patterns`` are plain names, the search ends when all are found, and the remaining calls have no names.
    Raises `BuildFailure`.
    """
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(receive)
            try:
                answer = json.dumps(_list_names_here(modules, patterns))
            except Exception as error:  # noqa: BLE001  # raised again in the parent
                answer = json.dumps(f"{type(error).__name__}: {error}")
            with os.fdopen(send, "w", encoding="utf-8") as pipe:
                pipe.write(answer)
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    found = json.loads(text) if text else "the child process crashed"
    if isinstance(found, str):
        raise BuildFailure(f"cannot list FlashInfer's modules: {found}")
    return list(found)


def _list_names_here(modules: list[Deferred], patterns: list[str]) -> list[list[str]]:
    import logging

    from flashinfer.compilation_context import CompilationContext

    logging.disable(logging.CRITICAL)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.environ.update(PATH="", FLASHINFER_NO_DOWNLOAD="1")
    os.environ.pop("CUDA_PATH", None)
    # Let generators without a target in this list name their modules too.
    CompilationContext.get_nvcc_flags_list = lambda *_, **__: []
    found: list[list[str]] = [[] for _ in modules]
    sought = {*patterns} if patterns and not any(set("*?[") & set(pattern) for pattern in patterns) else None
    words = set(re.findall(r"[a-z0-9]+", " ".join(patterns)))
    order = sorted(range(len(modules)), key=lambda at: -len(words & set(re.findall(r"[a-z0-9]+", modules[at].name))))
    for at in order:
        try:
            found[at] = [spec.name for spec in modules[at].make_specs()]
        except Exception:  # noqa: BLE001  # a selected generator is called again, outside this child process
            found[at] = [modules[at].plain_name]
        if sought is not None and sought <= {name for names in found for name in names}:
            break
    return found


def has_device_code(spec: Any) -> bool:
    """Return whether nvcc compiles any source of a module."""
    return any(Path(source).suffix == ".cu" for source in spec.sources)


def read_targets(spec: Any) -> list[str]:
    """Return the targets in a module's compiler flags; empty if it uses the target list."""
    flags = " ".join(spec.extra_cuda_cflags or [])
    found = {(int(m), int(n), s) for m, n, s in re.findall(r"code=sm_(\d+)(\d)([af]?)", flags)}
    return [f"{major}.{minor}{suffix}" for major, minor, suffix in sorted(found)]


def check_names(names: list[list[str]], patterns: list[str]) -> None:
    """Raise `BuildFailure` for unknown names, with the closest matches and all known names."""
    known = sorted({name for some in names for name in some})
    unknown = [pattern for pattern in patterns if not fnmatch.filter(known, pattern)]
    if unknown:
        lines = []
        for pattern in unknown:
            near = difflib.get_close_matches(pattern, known, n=3, cutoff=0.5)
            meant = f"; did you mean {', '.join(near)}?" if near else ""
            lines.append(f"unknown module '{pattern}'{meant}")
        raise BuildFailure(
            "\n".join([f"FlashInfer has these {len(known)} modules:", *(f"  {name}" for name in known), *lines])
        )


def choose_specs(offered: Selection, patterns: list[str], declared: list[str]) -> tuple[list[Any], dict[str, str]]:
    """Return the modules to compile, and by name the reasons of the excluded ones. Raises `BuildFailure`."""
    names = list_names(offered.modules, patterns)
    check_names(names, patterns)
    specs: dict[str, Any] = {}
    excluded: dict[str, str] = {}
    here = f"and this wheel contains {' '.join(declared)}"
    for module, some in zip(offered.modules, names):  # noqa: B905  # strict= came with Python 3.10
        matching = [name for name in some if not patterns or any(fnmatch.fnmatchcase(name, one) for one in patterns)]
        if not matching:
            continue
        made, reason = prepare(offered, module, matching[0])
        for name in matching if reason else ():
            excluded.setdefault(name, f"{reason}, {here}")
        for spec in made:
            if len(some) > 1 and spec.name not in matching:
                continue
            foreign = [target for target in read_targets(spec) if target not in declared]
            if foreign:
                always = f"FlashInfer always compiles it for {' '.join(foreign)}"
                excluded.setdefault(spec.name, f"{always}, {here}")
            else:
                specs.setdefault(spec.name, spec)
    return list(specs.values()), {name: reason for name, reason in excluded.items() if name not in specs}


def prepare(offered: Selection, module: Deferred, name: str) -> tuple[list[Any], str]:
    """Call a generator; returns its modules, or why the target list excludes them. Raises `BuildFailure`."""
    if module.name not in offered.chosen:
        targets = ", ".join(offered.chosen_for.get(module.name, ["other GPUs"]))
        return [], f"FlashInfer selects it for {targets} only"
    try:
        return module.make_specs(), ""
    except NoTarget as error:
        return [], str(error).rstrip(".")
    except Exception as error:
        raise BuildFailure(f"FlashInfer cannot prepare {name}: {type(error).__name__}: {error}") from error


def compile_modules(specs: list[Any], folder: Path, jobs: int) -> dict[str, float]:
    """Compile with ninja and print one line per file; returns the compiler time of each module in seconds.

    Raises `BuildFailure` with the compiler's output.
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
        raise BuildFailure("ninja is not on PATH\n  help: add ninja to the build requirements") from None
    assert ninja.stdout is not None  # noqa: S101  # it was started with a pipe
    failed, output = follow_ninja(ninja.stdout, folder)
    if ninja.wait() != 0:
        names = sorted({shorten(path, folder).split("/")[0] for path in failed})
        what = f"cannot compile {', '.join(names)}" if names else f"ninja exited with code {ninja.returncode}"
        raise BuildFailure("\n".join([what, *(f"  {line}" for line in output[:ERROR_LINES])]))
    return read_seconds(folder)


def follow_ninja(output: Iterable[str], folder: Path) -> tuple[list[str], list[str]]:
    """Print ninja's output with shortened commands; returns the failed outputs and the compiler output."""
    failed: list[str] = []
    messages: list[str] = []
    in_messages = False
    for line in output:
        shown = line
        step = re.match(r"\[(\d+/\d+)\] ", line)
        failure = re.match(r"FAILED: (?:\[.*?\] )?(\S+)", line)
        if step:
            in_messages = False
            built = re.search(r" -o (\S+)", line)
            shown = f"[{step[1]}] {shorten(built[1], folder)}\n" if built else line
        elif failure:
            in_messages = True
            failed.append(failure[1])
        elif line.startswith("ninja: "):
            in_messages = False
        elif in_messages and line.strip() and " -o " not in line:
            messages.append(line.rstrip("\n"))
        print(shown, end="", flush=True)
    return failed, messages


def shorten(path: str, folder: Path) -> str:
    """Return an output path relative to the folder of modules: ``page/csrc_page.cuda.o``."""
    return os.path.relpath(path, folder) if Path(path).is_absolute() else path


def read_seconds(folder: Path) -> dict[str, float]:
    """Read the compiler time of each module in seconds from ninja's log (start and end in ms, mtime, output)."""
    found: dict[str, float] = {}
    for line in (folder / ".ninja_log").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            start, end, _, output = line.split("\t")[:4]
            name = shorten(output, folder).split("/")[0]
            found[name] = found.get(name, 0.0) + (int(end) - int(start)) / 1000
    return found


def write_tree(out: Path, specs: list[Any], version: str, git_version: str, provider: str = "") -> None:
    """Write the package for FlashInfer 0.6, or one provider for 0.7, in site-packages layout."""
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
    """Write the package that finds the providers."""
    package = out / "flashinfer_jit_cache"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(SHIM.format(version=version), encoding="utf-8")


@contextlib.contextmanager
def temporary_folder() -> Iterator[str]:
    """Create a folder, with the same path each time if possible, because compiler caches depend on the path."""
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
    """Create a folder for FlashInfer's outputs and change to it: some generators write to the current folder."""
    with temporary_folder() as name:
        os.environ["FLASHINFER_WORKSPACE_BASE"] = name
        # FlashInfer ignores LDFLAGS. Some modules use dlopen, so link libdl, from the glibc that LDFLAGS selects.
        flags = [os.environ.get("FLASHINFER_EXTRA_LDFLAGS"), os.environ.get("LDFLAGS"), "-Wl,--as-needed", "-ldl"]
        os.environ["FLASHINFER_EXTRA_LDFLAGS"] = " ".join(flag for flag in flags if flag)
        before = Path.cwd()
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def build(options: argparse.Namespace) -> None:
    """Select and compile the modules, and write the tree and the report. Raises `BuildFailure`."""
    arch_list = os.environ.get("FLASHINFER_CUDA_ARCH_LIST", "")
    if not re.fullmatch(r"\d+\.\d[af]?( \d+\.\d[af]?)*", arch_list):
        raise BuildFailure(
            f"invalid FLASHINFER_CUDA_ARCH_LIST '{arch_list}'\n  help: use a form such as '8.0 9.0a 12.0f'"
        )
    try:
        from flashinfer import aot
        from flashinfer.jit import env
        from flashinfer.version import __git_version__, __version__
    except ImportError as error:
        raise BuildFailure(
            f"cannot import FlashInfer: {error}\n  help: add the missing packages to the build requirements"
        ) from error
    if not options.version.startswith(__version__):
        print(f"warning: FlashInfer {__version__} rejects wheels of version {options.version}", flush=True)
    patch_targets()
    for folder in (env.FLASHINFER_JIT_DIR, env.FLASHINFER_GEN_SRC_DIR):
        folder.mkdir(parents=True, exist_ok=True)
    patterns = [name for name in options.modules.split(",") if name]
    targets = arch_list.split()
    specs, excluded = choose_specs(select_modules(aot), patterns, targets)
    for name, reason in excluded.items():
        print(f"excluded: {name}: {reason}", flush=True)
    if not specs:
        raise BuildFailure("no modules to compile: all are excluded")
    print(f"{len(specs)} modules for {arch_list}, {options.jobs} jobs", flush=True)
    seconds = compile_modules(specs, env.FLASHINFER_JIT_DIR, options.jobs)
    write_tree(options.out, specs, options.version, __git_version__, options.provider)
    if options.report:
        report = {
            "modules": [
                {
                    "name": spec.name,
                    "targets": (read_targets(spec) or targets) if has_device_code(spec) else [],
                    "seconds": round(seconds.get(spec.name, 0.0), 2),
                }
                for spec in specs
            ],
            "excluded_modules": [{"name": name, "reason": reason} for name, reason in excluded.items()],
        }
        options.report.write_text(json.dumps(report, indent=1), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(description="Compile FlashInfer's AOT modules into the tree of a wheel.")
    parser.add_argument(
        "--out", type=lambda text: Path(text).resolve(), required=True, help="the output folder, empty or new"
    )
    parser.add_argument("--version", required=True, help="the version of the wheel, with its local label")
    parser.add_argument("--modules", default="", help="module names or globs, separated by commas [default: all]")
    parser.add_argument("--report", type=lambda text: Path(text).resolve(), help="the JSON report to write")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="number of parallel compilers")
    parser.add_argument(
        "--provider", default="", metavar="SM90A", help="create a FlashInfer 0.7 provider for this target"
    )
    parser.add_argument(
        "--shim", action="store_true", help="create the package that finds the providers; compile nothing"
    )
    options = parser.parse_args(arguments)
    if options.shim:
        write_shim(options.out, options.version)
        return 0
    try:
        with workspace():
            build(options)
    except BuildFailure as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
