"""The archive's members: whether they unpack, and where an installer would write them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from fatwheel.records.verification import Finding
from fatwheel.wheels.checks.inspected import InspectedWheel, error, warning
from fatwheel.wheels.reading.archive import Member

_PACKAGES = {"purelib", "platlib"}  # parts of a .data folder that are installed where the wheel's own packages are
_SCHEMES = _PACKAGES | {"headers", "scripts", "data"}


def check_members(wheel: InspectedWheel) -> Iterator[Finding]:
    """Names that lead outside, clash, or do not install; members that do not unpack."""
    for member in wheel.archive.members:
        yield from _name(member)
    yield from _clashes([member.name for member in wheel.archive.members])
    yield from _data_folders(wheel)
    for one in wheel.contents.values():
        if one.fault:
            help = "build the library again" if one.sha256 else "build or fetch the wheel again"
            yield error(one.fault.kind, one.fault.what, help, one.member.name)


def _name(member: Member) -> Iterator[Finding]:
    name = member.name
    parts = name.rstrip("/").split("/")
    # A drive's letter leads away from whatever it is joined to, also behind the start of a .data folder.
    if name.startswith(("/", "\\")) or re.search(r"(?:^|[/\\])[A-Za-z]:", name) or ".." in re.split(r"[/\\]", name):
        yield error("member-outside", "it would be written outside the install folder", "do not install it", name)
    elif "\\" in name or any(ord(letter) < 32 or ord(letter) == 127 for letter in name) or {"", "."} & set(parts):
        yield error("member-name", f"{name!r} does not install alike everywhere", "rename it before it is packed", name)
    if member.is_special:
        yield error(
            "member-special", "a symbolic link or a device, which a wheel cannot hold", "pack the file itself", name
        )


def _clashes(names: list[str]) -> Iterator[Finding]:
    for name, count in Counter(names).items():
        if count > 1:
            yield error("member-duplicate", f"{count} members have this name", "pack each file once", name)
    files = {name for name in names if not name.endswith("/")}
    for name in sorted(files):
        folders = name.split("/")[:-1]
        for depth in range(1, len(folders) + 1):
            if (folder := "/".join(folders[:depth])) in files:
                yield error("member-duplicate", f"'{folder}' is both a file and a folder", "rename one", name)
    for folded, count in Counter(map(_folded, set(names))).items():
        if count > 1:
            alike = sorted({name for name in names if _folded(name) == folded})
            yield warning("member-case", f"{', '.join(alike)} differ only by case", "rename one", alike[0])


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _data_folders(wheel: InspectedWheel) -> Iterator[Finding]:
    beside: dict[str, str] = {name: name for name in wheel.archive.by_name}  # by where it is installed
    for name in sorted(wheel.archive.by_name):
        top, _, rest = name.partition("/")
        if not top.endswith(".data") or not rest:
            continue
        if wheel.name and top != f"{wheel.name.stem}.data" and f"{top.removesuffix('.data')}.dist-info" != wheel.folder:
            yield warning(
                "member-name", f"'{top}' is not this wheel's data folder", f"call it {wheel.name.stem}.data", name
            )
        if (scheme := rest.split("/")[0]) not in _SCHEMES or rest == scheme:
            yield error(
                "member-name", f"'{scheme}' is no part of a data folder", f"use {', '.join(sorted(_SCHEMES))}", name
            )
        elif scheme in _PACKAGES:
            other = beside.setdefault(rest.partition("/")[2], name)
            if other != name:
                yield error("member-duplicate", f"it would be installed over '{other}'", "pack each file once", name)
