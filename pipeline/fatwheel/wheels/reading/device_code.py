"""Device code as a set: one target and one kind of code an element, declared or found in a wheel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from fatwheel.targets import Target
from fatwheel.wheels.reading.member import Contents

Kind = Literal["machine code", "PTX", "relocatable device code"]
Code = tuple[Target, Kind]

_KINDS: dict[str, Kind] = {"sass": "machine code", "ptx": "PTX", "other": "relocatable device code"}


def expand_targets(targets: Iterable[Target]) -> set[Code]:
    """What these targets (``9.0a``, ``9.0+PTX``, ``9.0-virtual``) require."""
    code: set[Code] = set()
    for target in targets:
        plain = Target(target.major, target.minor, target.suffix)
        code |= {(plain, "machine code")} if target.has_sass else set()
        code |= {(plain, "PTX")} if target.has_ptx else set()
    return code


def sum_code_bytes(contents: Iterable[Contents]) -> dict[Code, dict[str, int]]:
    """Stored bytes of each kind of code, by the module that contains it."""
    found: dict[Code, dict[str, int]] = {}
    for one in contents:
        for entry in one.entries:
            modules = found.setdefault((entry.target, _KINDS[entry.code]), {})
            modules[one.member.name] = modules.get(one.member.name, 0) + entry.stored
    return found
