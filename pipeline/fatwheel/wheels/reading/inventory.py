"""The inventory of a wheel, or of one library: which targets it holds code for, and what each takes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from fatwheel.errors import VerificationError
from fatwheel.records.inventory import CodeBytes, Inventory, Module, TargetCode
from fatwheel.targets import Target
from fatwheel.wheels.formats import elf, fatbin
from fatwheel.wheels.io.byte_sources import FileSource, Source, open_file
from fatwheel.wheels.reading.member import Contents, Member, look

if TYPE_CHECKING:
    from fatwheel.wheels.reading.archive import Archive


def read_inventory(path: Path) -> Inventory:
    """The inventory of a wheel, a library or a fat binary on disk.

    Raises `UsageError` if there is no such file, `VerificationError` naming every part that cannot be read.
    """
    with open_file(path) as file:
        return of_source(FileSource(file), path.name)


def of_source(source: Source, name: str, *, in_order: bool = False) -> Inventory:
    """The inventory of a wheel, a library or a fat binary, wherever it is; ``in_order`` as in `Archive`.

    Raises `VerificationError` naming every part that cannot be read.
    """
    magic = source.read(0, min(4, source.size))
    if magic in (elf.MAGIC, fatbin.MAGIC):
        return of_contents(name, [look(source, _alone(name, source.size))])
    from fatwheel.wheels.reading.archive import Archive

    return of_archive(Archive(source, name, in_order=in_order))


def of_archive(archive: Archive) -> Inventory:
    """The inventory of an open wheel. Raises `VerificationError` naming every member that cannot be read."""
    from fatwheel.wheels.reading.contents import examine

    return of_contents(archive.name, examine(archive, archive.by_name.values(), digests=False))


def of_contents(name: str, contents: Iterable[Contents]) -> Inventory:
    """The inventory of members already read. Raises `VerificationError` naming every one that could not be."""
    found = list(contents)
    faults = [f"{one.member.name}: {one.fault.what}" for one in found if one.fault]
    if faults:
        raise VerificationError("\n  ".join(faults), where=name, help="build or fetch it again")
    modules = sorted((one for one in found if one.is_module), key=lambda one: one.member.name)
    return Inventory(
        wheel=name,
        modules=[
            Module(
                name=one.member.name,
                file_bytes=one.member.size,
                wheel_bytes=one.member.stored,
                targets=sums(one.entries),
            )
            for one in modules
        ],
        targets=sums(entry for one in modules for entry in one.entries),
    )


def sums(entries: Iterable[fatbin.Entry]) -> dict[Target, TargetCode]:
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


def _alone(name: str, size: int) -> Member:
    return Member(name=name, size=size, stored=size, crc=0, method=0, flags=0, mode=0, header=0)
