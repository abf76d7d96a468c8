"""Which Python can try a wheel here, or why none can."""

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
    """An interpreter that takes the wheel: this one, else a ``pythonX.Y`` on PATH; or None and the reason."""
    if name.tags.intersection(sys_tags()):
        return sys.executable, ""
    reason = _foreign_platform(name)
    if reason:
        return None, reason
    wanted = dict.fromkeys(_versions(name.tags))
    for version in wanted:
        path = shutil.which(f"python{version}")
        if path and _is(path, version):
            return path, ""
    shown = " or ".join(wanted) or name.tag_text
    return None, f"it needs Python {shown}, and there is none here"


def _foreign_platform(name: WheelName) -> str:
    """Why no Python of this machine takes the platform tags; empty if one could."""
    if name.is_pure or set(name.platforms).intersection(platform_tags()):
        return ""
    here = platform.machine()
    made_for = sorted({arch for tag in name.platforms if (arch := parse_architecture(tag))})
    if made_for and here not in made_for:
        return f"it is for {', '.join(made_for)}, and this machine is {here}"
    floors = [floor for tag in name.platforms if (floor := parse_glibc_floor(tag))]
    library, version = platform.libc_ver()
    if floors and library == "glibc":
        return f"it needs glibc {'.'.join(map(str, min(floors)))}, and this machine has {version}"
    return f"it is for {', '.join(name.platforms)}, and this machine is {platform.system().lower()}_{here}"


def _versions(tags: frozenset[Tag]) -> Iterator[str]:
    for tag in sorted(tags, key=str):
        match = re.fullmatch(r"(?:cp|py)(\d)(\d+)", tag.interpreter)
        if match and not tag.abi.endswith("t"):
            yield f"{match[1]}.{match[2]}"


def _is(path: str, version: str) -> bool:
    """Whether it runs and is of that version: a version manager's shim may do neither."""
    command = [path, "-c", "import sys; print('.'.join(map(str, sys.version_info[:2])))"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and answer.stdout.strip() == version
