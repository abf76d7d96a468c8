"""Import an installed distribution and have the loader resolve its libraries; what was seen goes out as JSON.

    python -I smoke_import.py DISTRIBUTION MODULE...

Runs in the environment under test: standard library only, Python 3.9 or later. Judging is left to `fatwheel.smoke`.
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


def imported(name: str) -> dict[str, Any]:
    """Import one module: its ``__version__`` if that is text, its file, and the last lines of a failure."""
    try:
        module = importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001  SystemExit at import is a failure too, and is reported
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        return {"name": name, "error": "".join(lines).strip().splitlines()[-1], "traceback": "".join(lines)[-4000:]}
    version = getattr(module, "__version__", None)
    file = getattr(module, "__file__", None)
    return {"name": name, "error": None, "version": version if isinstance(version, str) else None, "file": file}


def libraries(distribution: metadata.Distribution) -> list[Path]:
    """The distribution's ELF shared libraries, by what is in the files and not by their names alone."""
    found = []
    for entry in distribution.files or []:
        if re.search(r"\.so(\.[0-9.]+)?$", entry.name):
            path = Path(str(entry.locate()))
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    found.append(path)
    return sorted(found)


def loader() -> str | None:
    """The dynamic loader of this very interpreter, as its program header says; else the platform's usual one."""
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


def resolved(program: str, library: Path) -> dict[str, Any]:
    """What the loader finds for a library and all that it needs; nothing of the library is run."""
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
        complaints.append(answer.stderr.strip() or f"the loader ended with status {answer.returncode}")
    return {"needed": needed, "complaints": complaints}


def loaded_names() -> list[str]:
    """File names of the libraries that are loaded into this process now."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    return sorted({Path(line.split(None, 5)[5]).name for line in lines if line.count("/") and ".so" in line})


def homes(root: Path, names: set[str]) -> dict[str, str]:
    """Where in the environment libraries of these names lie, relative to site-packages, for those that do."""
    found: dict[str, str] = {}
    for folder, _, files in os.walk(root) if names else ():
        for name in names.intersection(files):
            found.setdefault(name, os.path.relpath(folder, root))
    return found


def look(name: str, modules: list[str]) -> dict[str, Any]:
    """Everything that `fatwheel.smoke` asks for."""
    distribution = metadata.distribution(name)
    own = libraries(distribution)
    program = loader() if own else None
    root = Path(str(distribution.locate_file("")))
    traces = {os.path.relpath(path, root): resolved(program, path) for path in own} if program else {}
    missing = {needed for trace in traces.values() for needed, path in trace["needed"].items() if path is None}
    return {
        "python": platform.python_version(),
        "prefix": os.path.realpath(sys.prefix),
        "version": distribution.version,
        "modules": [imported(module) for module in modules],
        "loader": program,
        "libraries": traces,
        "homes": homes(root, missing),
        "unresolved_libraries": 0 if program else len(own),
        "loaded": loaded_names(),
    }


def main() -> None:
    """Print the report alone on standard output; what modules print on import goes to standard error."""
    out = os.dup(1)
    os.dup2(2, 1)
    report = look(sys.argv[1], sys.argv[2:])
    sys.stdout.flush()
    with open(out, "w", encoding="utf-8") as file:
        json.dump(report, file)


if __name__ == "__main__":
    main()
