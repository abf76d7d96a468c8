"""Find a Python on this machine that can install a wheel."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

from packaging.tags import Tag, platform_tags, sys_tags

from fatwheel.wheels.formats.wheel_name import WheelName, parse_architecture, parse_glibc_floor


def find_python(name: WheelName) -> tuple[str | None, str]:
    """Return an interpreter that supports the wheel: this one, else a ``pythonX.Y`` on PATH; or None and the reason."""
    if name.tags.intersection(sys_tags()):
        return sys.executable, ""
    reason = _foreign_platform(name)
    if reason:
        return None, reason
    requested = dict.fromkeys(_versions(name.tags))
    for version in requested:
        path = shutil.which(f"python{version}")
        if path and _has_version(path, version):
            return path, ""
    shown = " or ".join(requested) or name.tag_text
    return None, f"the wheel needs Python {shown}, which is not on PATH"


def _foreign_platform(name: WheelName) -> str:
    """Return why this machine does not support the platform tags; empty if it does."""
    if name.is_pure or set(name.platforms).intersection(platform_tags()):
        return ""
    here = platform.machine()
    made_for = sorted({arch for tag in name.platforms if (arch := parse_architecture(tag))})
    if made_for and here not in made_for:
        return f"the wheel is for {', '.join(made_for)}, but this machine is {here}"
    floors = [floor for tag in name.platforms if (floor := parse_glibc_floor(tag))]
    library, version = platform.libc_ver()
    if floors and library == "glibc":
        return f"the wheel needs glibc {'.'.join(map(str, min(floors)))}, but this machine has {version}"
    return f"the wheel is for {', '.join(name.platforms)}, but this machine is {platform.system().lower()}_{here}"


def _versions(tags: frozenset[Tag]) -> Iterator[str]:
    for tag in sorted(tags, key=str):
        match = re.fullmatch(r"(?:cp|py)(\d)(\d+)", tag.interpreter)
        if match and not tag.abi.endswith("t"):
            yield f"{match[1]}.{match[2]}"


def _has_version(path: str, version: str) -> bool:
    """Return whether it runs and has that version; a shim of a version manager may not."""
    command = [path, "-I", "-c", "import sys; print('.'.join(map(str, sys.version_info[:2])))"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and answer.stdout.strip() == version
