"""The inventory of a wheel or a library: the targets with code in it, and the bytes of each."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from fatwheel.errors import VerificationError
from fatwheel.records.inventory import CodeBytes, Inventory, Module, TargetCode
from fatwheel.targets import Target
from fatwheel.wheels.formats import elf, fatbin
from fatwheel.wheels.io.byte_sources import FileSource, Source, open_file
from fatwheel.wheels.reading.member import Contents, Member, parse_contents

if TYPE_CHECKING:
    from fatwheel.wheels.reading.archive import Archive


def read_inventory(path: Path) -> Inventory:
    """The inventory of a wheel, a library or a fat binary on disk.

    Raises `UsageError` if it cannot be opened, `VerificationError` naming every unreadable member.
    """
    with open_file(path) as file:
        return read_source_inventory(FileSource(file), path.name)


def read_source_inventory(source: Source, name: str, *, in_order: bool = False) -> Inventory:
    """The inventory of a wheel, a library or a fat binary in a byte source; ``in_order`` as in `Archive`.

    Raises `VerificationError` naming every unreadable member.
    """
    magic = source.read(0, min(4, source.size))
    if magic in (elf.MAGIC, fatbin.MAGIC):
        return make_inventory(name, [parse_contents(source, _make_standalone_member(name, source.size))])
    from fatwheel.wheels.reading.archive import Archive  # not needed for a library, which starts faster

    return read_archive_inventory(Archive(source, name, in_order=in_order))


def read_archive_inventory(archive: Archive) -> Inventory:
    """The inventory of an open wheel. Raises `VerificationError` naming every unreadable member."""
    from fatwheel.wheels.reading.contents import examine

    return make_inventory(archive.name, examine(archive, archive.by_name.values(), digests=False))


def make_inventory(name: str, contents: Iterable[Contents]) -> Inventory:
    """The inventory of members already read. Raises `VerificationError` naming every unreadable one."""
    found = list(contents)
    faults = [f"{one.member.name}: {one.fault.what}" for one in found if one.fault]
    if faults:
        raise VerificationError("\n  ".join(faults), where=name, help="build or download it again")
    modules = sorted((one for one in found if one.is_module), key=lambda one: one.member.name)
    return Inventory(
        wheel=name,
        modules=[
            Module(
                name=one.member.name,
                file_bytes=one.member.size,
                wheel_bytes=one.member.stored,
                targets=sum_code(one.entries),
            )
            for one in modules
        ],
        targets=sum_code(entry for one in modules for entry in one.entries),
    )


def sum_code(entries: Iterable[fatbin.Entry]) -> dict[Target, TargetCode]:
    """Bytes by target (ascending) and kind of code."""
    totals: dict[Target, dict[fatbin.Code, list[int]]] = {}
    for entry in entries:
        total = totals.setdefault(entry.target, {}).setdefault(entry.code, [0, 0])
        total[0] += entry.stored
        total[1] += entry.raw
    return {
        target: TargetCode(**{code: CodeBytes(stored=n[0], raw=n[1]) for code, n in totals[target].items()})
        for target in sorted(totals)
    }


def _make_standalone_member(name: str, size: int) -> Member:
    return Member(name=name, size=size, stored=size, crc=0, method=0, flags=0, mode=0, header=0)
