"""Import an installed distribution, resolve its libraries with the dynamic loader, and print the results as JSON.

    python -I smoke_import.py DISTRIBUTION MODULE...

The script runs in the environment under test and requires only the standard library of Python 3.9 or later.
`fatwheel.smoke` evaluates the results.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import struct
import subprocess
import sys
import traceback
from importlib import metadata
from pathlib import Path
from typing import Any

_LOADERS = {
    "x86_64": "/lib64/ld-linux-x86-64.so.2",
    "aarch64": "/lib/ld-linux-aarch64.so.1",
}
_ARROW = re.compile(r"^\s*(\S+) => (not found|/.*?) *(?:\(0x[0-9a-f]+\))?\s*$")
_COMPLAINT = re.compile(r"^(?:\S+: )?(?:error while loading shared libraries: |/?.*: version )(.*)$")
_TIMEOUT = 120  # seconds for the loader and one library


def import_module(name: str) -> dict[str, Any]:
    """Import a module; returns its ``__version__`` if it is a string, its file, and the end of any traceback."""
    try:
        module = importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001  SystemExit on import is reported as a failure too
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        return {"name": name, "error": "".join(lines).strip().splitlines()[-1], "traceback": "".join(lines)[-4000:]}
    version = getattr(module, "__version__", None)
    file = getattr(module, "__file__", None)
    return {"name": name, "error": None, "version": version if isinstance(version, str) else None, "file": file}


def find_libraries(distribution: metadata.Distribution) -> list[Path]:
    """Find the ELF shared libraries of a distribution, by name and magic number."""
    found = []
    for entry in distribution.files or []:
        if re.search(r"\.so(\.[0-9.]+)?$", entry.name):
            path = Path(str(entry.locate()))
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    found.append(path)
    return sorted(found)


def find_loader() -> str | None:
    """Return the dynamic loader from the program header of this interpreter, or the usual one of the platform."""
    with open(os.path.realpath(sys.executable), "rb") as file:
        header = file.read(64)
        if header[:6] == b"\x7fELF\x02\x01":
            offset, size, count = struct.unpack_from("<Q14xHH", header, 32)
            for index in range(count):
                file.seek(offset + index * size)
                kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", file.read(size))
                if kind == 3:  # PT_INTERP
                    file.seek(start)
                    return file.read(length).rstrip(b"\0").decode()
    usual = _LOADERS.get(platform.machine())
    return usual if usual and Path(usual).exists() else None


def resolve_library(program: str, library: Path) -> dict[str, Any]:
    """Resolve a library and its dependencies with the loader, without running any code of the library."""
    env = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    command = [program, str(library)]
    answer = subprocess.run(
        command, env=env, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT, check=False
    )
    needed: dict[str, str | None] = {}
    complaints = []
    for line in (answer.stdout + answer.stderr).splitlines():
        arrow, complaint = _ARROW.match(line), _COMPLAINT.match(line)
        if arrow:
            needed[arrow[1]] = None if arrow[2] == "not found" else os.path.realpath(arrow[2].strip())
        elif complaint:
            complaints.append(line.strip())
    if answer.returncode and not needed and not complaints:
        complaints.append(answer.stderr.strip() or f"the loader exited with code {answer.returncode}")
    return {"needed": needed, "complaints": complaints}


def list_loaded() -> list[str]:
    """Return the file names of the libraries loaded into this process."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    return sorted({Path(line.split(None, 5)[5]).name for line in lines if line.count("/") and ".so" in line})


def locate_libraries(root: Path, names: set[str]) -> dict[str, str]:
    """Locate libraries by name in the environment; returns folders relative to site-packages."""
    found: dict[str, str] = {}
    for folder, _, files in os.walk(root) if names else ():
        for name in names.intersection(files):
            found.setdefault(name, os.path.relpath(folder, root))
    return found


def inspect_distribution(name: str, modules: list[str]) -> dict[str, Any]:
    """Return all data that `fatwheel.smoke` evaluates."""
    distribution = metadata.distribution(name)
    own = find_libraries(distribution)
    program = find_loader() if own else None
    root = Path(str(distribution.locate_file("")))
    traces = {os.path.relpath(path, root): resolve_library(program, path) for path in own} if program else {}
    missing = {needed for trace in traces.values() for needed, path in trace["needed"].items() if path is None}
    return {
        "python": platform.python_version(),
        "prefix": os.path.realpath(sys.prefix),
        "version": distribution.version,
        "modules": [import_module(module) for module in modules],
        "loader": program,
        "libraries": traces,
        "homes": locate_libraries(root, missing),
        "unresolved_libraries": 0 if program else len(own),
        "loaded": list_loaded(),
    }


def main() -> None:
    """Print only the report on standard output; output of imported modules goes to standard error."""
    out = os.dup(1)
    os.dup2(2, 1)
    report = inspect_distribution(sys.argv[1], sys.argv[2:])
    sys.stdout.flush()
    with open(out, "w", encoding="utf-8") as file:
        json.dump(report, file)


if __name__ == "__main__":
    main()
