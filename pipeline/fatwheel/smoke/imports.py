"""The import test: what `scripts/smoke_import.py` saw in the bare environment, and whether that will do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from fatwheel.processes import run
from fatwheel.records.smoke import Check
from fatwheel.resources import script
from fatwheel.smoke.clean_environment import CleanEnvironment
from fatwheel.smoke.subject import Subject
from fatwheel.wheels.formats.wheel_name import parse_version

_SECONDS = 900.0  # a thousand modules are resolved in a few seconds; imports may compile bytecode

DRIVER = "libcuda.so.1"
"""Comes with the driver, so a machine without a GPU lacks it."""

# Libraries of CUDA toolkits: a user has them from the wheel or its requirements, not from /usr/local/cuda.
_TOOLKIT = re.compile(
    r"lib(cudart|cublas|cublasLt|cufft|cufftw|curand|cusolver|cusolverMg|cusparse|cusparseLt|cudnn\w*|nccl|nvrtc|nvJitLink"
    r"|nvToolsExt|nvtx3interop|npp\w+|nvjpeg|cupti|cufile|nvshmem\w*)\.so[.0-9]*"
)
_SYSTEM = tuple(map(PurePosixPath, ("/lib", "/lib64", "/usr/lib", "/usr/lib64")))


@dataclass(frozen=True)
class Imported:
    """The verdict, and the Python that it was reached with."""

    check: Check
    python: str | None = None


def try_import(bare: CleanEnvironment, subject: Subject, environ: Mapping[str, str]) -> Imported:
    """Import the wheel's modules in the environment, and judge."""
    if not subject.modules:
        return Imported(Check(outcome="skipped", detail="it holds nothing to import"))
    tested = (subject.name.distribution, *subject.modules)
    command: list[str | Path] = [bare.python, "-I", script("smoke_import.py"), *tested]
    answer = run(command, env=bare.variables(environ), cwd=bare.work, timeout=_SECONDS)
    if answer.status != 0:
        return Imported(Check(outcome="failed", detail=f"importing it {answer.ended}: {answer.tail}".strip(": ")))
    report = json.loads(answer.output)
    return Imported(evaluate_imports(report, subject), report["python"])


def evaluate_imports(report: Mapping[str, Any], subject: Subject) -> Check:
    """All that is wrong at once, else what held."""
    notes: list[str] = []
    wrong = [*_modules(report, subject), *_libraries(report, subject.provided, notes)]
    if wrong:
        return Check(outcome="failed", detail="; ".join(wrong))
    names = ", ".join(subject.modules)
    held = [f"import {names}", f"version {report['version']}"]
    if count := len(report["libraries"]):
        held.append(f"{count} librar{'y' if count == 1 else 'ies'} resolved")
    if subject.placeholder:
        held.append("placeholder: no code in it")
    return Check(outcome="passed", detail="; ".join([*held, *notes]))


def _modules(report: Mapping[str, Any], subject: Subject) -> Iterator[str]:
    for module in report["modules"]:
        if module["error"]:
            absent = re.search(r"No module named '([\w.]+)'", module["error"])
            hint = f" (nothing that the wheel requires brings {absent[1].split('.')[0]})" if absent else ""
            yield f"import {module['name']}: {module['error']}{hint}"
    named = [m for m in report["modules"] if m["name"] == subject.name.distribution.replace("-", "_")]
    for module in named or (report["modules"] if len(report["modules"]) == 1 else []):
        said = module.get("version")
        if said is not None and not _same(said, report["version"]):
            yield f"{module['name']}.__version__ is {said}, METADATA says {report['version']}{_advice(said, report)}"


def _advice(said: str, report: Mapping[str, Any]) -> str:
    """How a version that lacks no more than the label gets it."""
    if not _same(said, str(report["version"]).partition("+")[0]):
        return ""
    return " (name the file that says it under `stamp`, or let it ask importlib.metadata.version)"


def _same(one: str, other: str) -> bool:
    versions = parse_version(one), parse_version(other)
    return one == other if None in versions else versions[0] == versions[1]


def _libraries(report: Mapping[str, Any], provided: Sequence[str], notes: list[str]) -> Iterator[str]:
    """Problems with what the loader found; what is tolerated goes to ``notes``."""
    lacking: dict[str, list[str]] = {}
    foreign: dict[tuple[str, str], list[str]] = {}
    for library, trace in report["libraries"].items():
        for complaint in trace["complaints"]:
            yield f"{library}: {complaint}"
        for needed, path in trace["needed"].items():
            if path is None:
                lacking.setdefault(needed, []).append(library)
            elif _is_foreign(needed, path, report["prefix"]):
                foreign.setdefault((needed, path), []).append(library)
    for needed, users in sorted(lacking.items()):
        if needed == DRIVER:
            notes.append(f"{DRIVER} is the driver's")
        elif _matches(needed, provided):
            notes.append(f"{needed} is provided by what loads this package")
        elif needed in report["homes"]:
            notes.append(f"{needed} is in {report['homes'][needed]}, for the package to load")
        elif needed not in report["loaded"]:
            yield f"{_users(users)} {needed}, which neither the wheel nor its requirements bring"
    for (needed, path), users in sorted(foreign.items()):
        if _matches(needed, provided):
            notes.append(f"{needed} is provided by what loads this package")
        else:
            yield f"{_users(users)} {needed}, which was found only on this machine ({path})"
    if report["unresolved_libraries"]:
        notes.append(f"{report['unresolved_libraries']} libraries not resolved: no loader is known here")


def _users(libraries: Sequence[str]) -> str:
    more = f" and {len(libraries) - 1} more need" if len(libraries) > 1 else " needs"
    return f"{libraries[0]}{more}"


def _matches(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _is_foreign(name: str, path: str, prefix: str) -> bool:
    """Whether a library was found where a user's machine need not have it."""
    place = PurePosixPath(path)
    if place.is_relative_to(prefix) or name.startswith(("libcuda.so", "libnvidia-", "libpython")):
        return False
    return bool(_TOOLKIT.fullmatch(name)) or not any(place.is_relative_to(root) for root in _SYSTEM)
