"""Check the members of the archive: whether they unpack, and where an installer would write them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from fatwheel.records.verification import Finding
from fatwheel.wheels.checks.inspected import InspectedWheel, error, warning
from fatwheel.wheels.reading.archive import Member

_PACKAGES = {"purelib", "platlib"}  # parts of a .data folder that are installed beside the wheel's packages
_SCHEMES = _PACKAGES | {"headers", "scripts", "data"}


def check_members(wheel: InspectedWheel) -> Iterator[Finding]:
    """Names that leave the install folder, clash, or cannot be installed; members that cannot be unpacked."""
    for member in wheel.archive.members:
        yield from _check_name(member)
    yield from _find_clashes([member.name for member in wheel.archive.members])
    yield from _check_data_folders(wheel)
    for one in wheel.contents.values():
        if one.fault:
            help = "build the library again" if one.sha256 else "build or download the wheel again"
            yield error(one.fault.kind, one.fault.what, help, one.member.name)


def _check_name(member: Member) -> Iterator[Finding]:
    name = member.name
    parts = name.rstrip("/").split("/")
    # A drive letter discards the path it is joined to, also after the prefix of a .data folder.
    if name.startswith(("/", "\\")) or re.search(r"(?:^|[/\\])[A-Za-z]:", name) or ".." in re.split(r"[/\\]", name):
        yield error("member-outside", "it would be written outside the install folder", "do not install it", name)
    elif "\\" in name or any(ord(letter) < 32 or ord(letter) == 127 for letter in name) or {"", "."} & set(parts):
        yield error("member-name", f"{name!r} cannot be installed on every system", "rename it before packing", name)
    if member.is_special:
        yield error("member-special", "a wheel cannot contain symbolic links or devices", "pack the file itself", name)


def _find_clashes(names: list[str]) -> Iterator[Finding]:
    for name, count in Counter(names).items():
        if count > 1:
            yield error("member-duplicate", f"{count} members have this name", "pack each file once", name)
    files = {name for name in names if not name.endswith("/")}
    for name in sorted(files):
        folders = name.split("/")[:-1]
        for depth in range(1, len(folders) + 1):
            if (folder := "/".join(folders[:depth])) in files:
                yield error("member-duplicate", f"'{folder}' is both a file and a folder", "rename one", name)
    for folded, count in Counter(map(_fold, set(names))).items():
        if count > 1:
            alike = sorted({name for name in names if _fold(name) == folded})
            yield warning("member-case", f"{', '.join(alike)} differ only by case", "rename one", alike[0])


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _check_data_folders(wheel: InspectedWheel) -> Iterator[Finding]:
    beside: dict[str, str] = {name: name for name in wheel.archive.by_name}  # by where it is installed
    for name in sorted(wheel.archive.by_name):
        top, _, rest = name.partition("/")
        if not top.endswith(".data") or not rest:
            continue
        if wheel.name and top != f"{wheel.name.stem}.data" and f"{top.removesuffix('.data')}.dist-info" != wheel.folder:
            yield warning(
                "member-name",
                f"'{top}' is not the .data folder of this wheel",
                f"rename it to {wheel.name.stem}.data",
                name,
            )
        if (scheme := rest.split("/")[0]) not in _SCHEMES or rest == scheme:
            yield error(
                "member-name", f"invalid part '{scheme}' of a .data folder", f"use {', '.join(sorted(_SCHEMES))}", name
            )
        elif scheme in _PACKAGES:
            other = beside.setdefault(rest.partition("/")[2], name)
            if other != name:
                yield error("member-duplicate", f"it would be installed over '{other}'", "pack each file once", name)
