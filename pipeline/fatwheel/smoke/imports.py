"""The import test: run `scripts/smoke_import.py` in the clean environment and evaluate its report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from fatwheel.formatting import count_of
from fatwheel.processes import run
from fatwheel.records.smoke import Check
from fatwheel.resources import script
from fatwheel.smoke.clean_environment import CleanEnvironment
from fatwheel.smoke.subject import Subject
from fatwheel.wheels.formats.wheel_name import parse_version

_SECONDS = 900.0  # a thousand modules are resolved in a few seconds; imports may compile bytecode

DRIVER = "libcuda.so.1"
"""The library of the driver: missing on machines without a GPU, which is not an error."""

# Libraries of CUDA toolkits: they must come from the wheel or its dependencies, not from /usr/local/cuda.
_TOOLKIT = re.compile(
    r"lib(cudart|cublas|cublasLt|cufft|cufftw|curand|cusolver|cusolverMg|cusparse|cusparseLt|cudnn\w*|nccl|nvrtc|nvJitLink"
    r"|nvToolsExt|nvtx3interop|npp\w+|nvjpeg|cupti|cufile|nvshmem\w*)\.so[.0-9]*"
)
_SYSTEM = tuple(map(PurePosixPath, ("/lib", "/lib64", "/usr/lib", "/usr/lib64")))


@dataclass(frozen=True)
class ImportResult:
    """The result of the import test, and the version of its Python."""

    check: Check
    python: str | None = None


def run_import_test(bare: CleanEnvironment, subject: Subject, environ: Mapping[str, str]) -> ImportResult:
    """Import the wheel's modules in the environment and evaluate the report."""
    if not subject.modules:
        return ImportResult(Check(outcome="skipped", detail="no module to import"))
    tested = (subject.name.distribution, *subject.modules)
    command: list[str | Path] = [bare.python, "-I", script("smoke_import.py"), *tested]
    answer = run(command, env=bare.variables(environ), cwd=bare.work, timeout=_SECONDS)
    if answer.status != 0:
        return ImportResult(Check(outcome="failed", detail=f"the import {answer.ended}: {answer.tail}".strip(": ")))
    report = json.loads(answer.output)
    return ImportResult(evaluate_imports(report, subject), report["python"])


def evaluate_imports(report: Mapping[str, Any], subject: Subject) -> Check:
    """Return the result of the import test with all errors, else with what passed."""
    notes: list[str] = []
    wrong = [*_modules(report, subject), *_libraries(report, subject.provided, notes)]
    if wrong:
        return Check(outcome="failed", detail="; ".join(wrong))
    names = ", ".join(subject.modules)
    passed = [f"import {names}", f"version {report['version']}"]
    if count := len(report["libraries"]):
        passed.append(f"{count_of(count, 'library', 'libraries')} resolved")
    if subject.placeholder:
        passed.append("placeholder without code")
    return Check(outcome="passed", detail="; ".join([*passed, *notes]))


def _modules(report: Mapping[str, Any], subject: Subject) -> Iterator[str]:
    for module in report["modules"]:
        if module["error"]:
            absent = re.search(r"No module named '([\w.]+)'", module["error"])
            hint = f" (no dependency of the wheel provides {absent[1].split('.')[0]})" if absent else ""
            yield f"import {module['name']}: {module['error']}{hint}"
    named = [m for m in report["modules"] if m["name"] == subject.name.distribution.replace("-", "_")]
    for module in named or (report["modules"] if len(report["modules"]) == 1 else []):
        version = module.get("version")
        if version is not None and not _same(version, report["version"]):
            hint = _version_hint(version, report)
            yield f"{module['name']}.__version__ is {version}, but METADATA has {report['version']}{hint}"


def _version_hint(version: str, report: Mapping[str, Any]) -> str:
    """Return how to add the local version label, if only that is missing."""
    if not _same(version, str(report["version"]).partition("+")[0]):
        return ""
    return " (add the file that defines it to `stamp`, or use importlib.metadata.version)"


def _same(one: str, other: str) -> bool:
    versions = parse_version(one), parse_version(other)
    return one == other if None in versions else versions[0] == versions[1]


def _libraries(report: Mapping[str, Any], provided: Sequence[str], notes: list[str]) -> Iterator[str]:
    """Yield the errors in the loader's report; add what is allowed to ``notes``."""
    missing: dict[str, list[str]] = {}
    foreign: dict[tuple[str, str], list[str]] = {}
    for library, trace in report["libraries"].items():
        for complaint in trace["complaints"]:
            yield f"{library}: {complaint}"
        for needed, path in trace["needed"].items():
            if path is None:
                missing.setdefault(needed, []).append(library)
            elif _is_foreign(needed, path, report["prefix"]):
                foreign.setdefault((needed, path), []).append(library)
    for needed, users in sorted(missing.items()):
        if needed == DRIVER:
            notes.append(f"{DRIVER} comes with the driver")
        elif _matches(needed, provided):
            notes.append(f"{needed} is declared as `provided`")
        elif needed in report["homes"]:
            notes.append(f"{needed} is in {report['homes'][needed]}, which the package loads itself")
        elif needed not in report["loaded"]:
            yield f"{_users(users)} {needed}, which neither the wheel nor its dependencies provide"
    for (needed, path), users in sorted(foreign.items()):
        if _matches(needed, provided):
            notes.append(f"{needed} is declared as `provided`")
        else:
            yield f"{_users(users)} {needed}, which only this machine provides ({path})"
    if report["unresolved_libraries"]:
        notes.append(f"{report['unresolved_libraries']} libraries not resolved: no known loader on this machine")


def _users(libraries: Sequence[str]) -> str:
    more = f" and {len(libraries) - 1} more need" if len(libraries) > 1 else " needs"
    return f"{libraries[0]}{more}"


def _matches(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _is_foreign(name: str, path: str, prefix: str) -> bool:
    """Return whether a library comes from a place that users' machines may not have."""
    place = PurePosixPath(path)
    if place.is_relative_to(prefix) or name.startswith(("libcuda.so", "libnvidia-", "libpython")):
        return False
    return bool(_TOOLKIT.fullmatch(name)) or not any(place.is_relative_to(root) for root in _SYSTEM)
