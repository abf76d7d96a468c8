"""Shared libraries and executables: what an ELF file says of itself."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from fatwheel.wheels.io.byte_sources import Malformed, Source

MAGIC = b"\x7fELF"
CUDA = 190  # e_machine of a cubin (EM_CUDA)
# As platform tags name them. Of 21 there are two, of either byte order.
MACHINES: dict[int, str] = {
    3: "i686",
    21: "ppc64le",
    22: "s390x",
    40: "armv7l",
    62: "x86_64",
    183: "aarch64",
    243: "riscv64",
    258: "loongarch64",
}

_TABLE_LIMIT = 64 << 20  # bytes; far above any real section, string or dynamic table
_DYNAMIC_LIMIT = 1 << 20  # bytes
_STRING_LIMIT = 16 << 10  # bytes
_VERSIONS_LIMIT = 1 << 12  # version needs of one file
_PT_LOAD, _PT_DYNAMIC = 1, 2
_SHT_NULL, _SHT_NOBITS = 0, 8
_DT_NEEDED, _DT_STRTAB, _DT_STRSZ, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 1, 5, 10, 14, 15, 29
_DT_VERNEED, _DT_VERNEEDNUM = 0x6FFFFFFE, 0x6FFFFFFF


@dataclass(frozen=True)
class _Form:
    """How numbers are laid out: ``order`` as `struct` has it, and 32 or 64 bits."""

    order: str
    wide: bool

    @property
    def header(self) -> struct.Struct:
        """Machine, program headers, sections, and how large and how many they are; from byte 18 on."""
        return struct.Struct(f"{self.order}{'H12xQQ6xHHHHH' if self.wide else 'H8xII6xHHHHH'}")

    @property
    def section(self) -> struct.Struct:
        """Name, kind, flags, address, offset, size, link, and more."""
        return struct.Struct(f"{self.order}{'IIQQQQIIQQ' if self.wide else '10I'}")

    @property
    def segment(self) -> struct.Struct:
        """Its fields come in another order with 32 bits."""
        return struct.Struct(f"{self.order}{'IIQQQQQQ' if self.wide else '8I'}")

    @property
    def dynamic(self) -> struct.Struct:
        """Tag and value."""
        return struct.Struct(f"{self.order}{'QQ' if self.wide else 'II'}")

    @property
    def header_size(self) -> int:
        """Bytes of the file's own header."""
        return 18 + self.header.size


@dataclass(frozen=True)
class Section:
    """A named stretch of the file; offset and size in bytes."""

    name: str
    kind: int
    offset: int
    size: int


@dataclass(frozen=True)
class Elf:
    """One ELF file. ``versions`` are libraries and symbol versions that it needs: ``("libc.so.6", "GLIBC_2.28")``.

    ``end`` is where the last part ends that its headers know of; what somebody has appended begins there.
    """

    machine: int
    sections: tuple[Section, ...]
    soname: str | None
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    end: int

    @property
    def architecture(self) -> str:
        """As in a platform tag: ``x86_64``; ``machine 190`` for one that has no tag."""
        return MACHINES.get(self.machine, f"machine {self.machine}")

    @property
    def glibc(self) -> tuple[int, int] | None:
        """The lowest glibc that it loads on, by the symbol versions that it needs; None if it needs none."""
        floors = [floor for _, version in self.versions if (floor := _glibc(version))]
        return max(floors, default=None)


def _glibc(version: str) -> tuple[int, int] | None:
    if version == "GLIBC_ABI_DT_RELR":  # packed relocations, which glibc 2.36 was the first to read
        return (2, 36)
    match = re.fullmatch(r"GLIBC_(\d{1,4})\.(\d{1,4})(\.\d+)*", version)
    return (int(match[1]), int(match[2])) if match else None


def read_elf(source: Source) -> Elf:
    """Read the headers, the dynamic section and the version needs. Raises `Malformed`."""
    header = source.read(0, min(64, source.size))
    if header[:4] != MAGIC:
        raise Malformed("not an ELF file")
    if len(header) > 6 and not (header[4] in (1, 2) and header[5] in (1, 2)):
        raise Malformed("an ELF file of neither 32 nor 64 bits, or of no byte order")
    form = _Form(">" if header[5:6] == b"\2" else "<", wide=header[4:5] != b"\1")
    if len(header) < form.header_size:
        raise Malformed("an ELF file cut short within its header")
    machine: int
    machine, phoff, shoff, phentsize, phnum, shentsize, shnum, shstrndx = form.header.unpack_from(header, 18)
    sections = _sections(source, form, shoff, shentsize, (shnum, shstrndx))
    loads, dynamic = _segments(source, form, phoff, phentsize, phnum)
    found = _Dynamic(source, form, loads, dynamic)
    return Elf(
        machine=machine,
        sections=sections,
        soname=next(iter(found.strings(_DT_SONAME)), None),
        needed=found.strings(_DT_NEEDED),
        rpath=_paths(found.strings(_DT_RPATH)),
        runpath=_paths(found.strings(_DT_RUNPATH)),
        versions=found.versions(),
        end=max(
            phoff + phentsize * phnum,
            shoff + shentsize * len(sections),
            *(start + size for _, start, size in loads),
            *(one.offset + one.size for one in sections if one.kind not in (_SHT_NULL, _SHT_NOBITS)),
        ),
    )


def _paths(lists: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path for joined in lists if joined for path in joined.split(":"))  # glibc passes over an empty list


def _table(source: Source, what: str, offset: int, size: int) -> bytes:
    if size > _TABLE_LIMIT:
        raise Malformed(f"the {what} claims {size} bytes")
    try:
        return source.read(offset, size)
    except Malformed as error:
        raise Malformed(f"the {what} lies outside the file ({error.what})") from None


def _sections(source: Source, form: _Form, offset: int, entry: int, numbers: tuple[int, int]) -> tuple[Section, ...]:
    count, names_at = numbers
    row = form.section
    if offset == 0:
        return ()
    if entry != row.size:
        raise Malformed(f"section headers of {entry} bytes, not {row.size}")
    if count == 0 or names_at == 0xFFFF:  # more than fit in the header: section 0 holds the numbers
        _, _, _, _, _, first_size, first_link, *_ = row.unpack(_table(source, "section table", offset, row.size))
        count, names_at = count or first_size, first_link if names_at == 0xFFFF else names_at
    rows = list(row.iter_unpack(_table(source, "section table", offset, row.size * count)))
    if names_at == 0 or not rows:
        names = b""
    elif names_at >= len(rows):
        raise Malformed("the table of section names is not among the sections")
    else:
        names = _table(source, "table of section names", rows[names_at][4], rows[names_at][5])
    sections = []
    for name_at, kind, _, _, start, size, *_ in rows:
        end = names.find(b"\0", name_at)
        name = names[name_at : max(end, name_at)].decode("utf-8", "replace")
        if kind not in (_SHT_NULL, _SHT_NOBITS) and start + size > source.size:
            raise Malformed(f"section {name or '?'} lies outside the file")
        sections.append(Section(name, kind, start, size))
    return tuple(sections)


_Segment = tuple[int, int, int]  # address, offset, bytes in the file


def _segments(
    source: Source, form: _Form, offset: int, entry: int, count: int
) -> tuple[list[_Segment], _Segment | None]:
    row = form.segment
    if offset == 0 or count == 0:
        return [], None
    if entry != row.size:
        raise Malformed(f"program headers of {entry} bytes, not {row.size}")
    loads: list[_Segment] = []
    dynamic: _Segment | None = None
    for kind, *fields in row.iter_unpack(_table(source, "program header table", offset, row.size * count)):
        start, address, _, size = fields[1:5] if form.wide else fields[:4]
        if kind == _PT_LOAD:
            loads.append((address, start, size))
        elif kind == _PT_DYNAMIC:
            dynamic = (address, start, size)
    return loads, dynamic


class _Dynamic:
    """The dynamic section, found as the loader finds it: by program headers, so that no section name can mislead."""

    def __init__(self, source: Source, form: _Form, loads: list[_Segment], dynamic: _Segment | None) -> None:
        self._source, self._form, self._loads = source, form, loads
        self._entries: list[tuple[int, int]] = []
        if dynamic:
            row = form.dynamic
            size = min(dynamic[2], _DYNAMIC_LIMIT) // row.size * row.size
            for tag, value in row.iter_unpack(_table(source, "dynamic section", dynamic[1], size)):
                if tag == 0:
                    break
                self._entries.append((tag, value))
        self._strings_size = self._value(_DT_STRSZ) or 0

    def _value(self, tag: int) -> int | None:
        return next((value for found, value in self._entries if found == tag), None)

    def _offset(self, address: int) -> int:
        for base, start, size in self._loads:
            if base <= address < base + size:
                return start + address - base
        raise Malformed(f"the dynamic section points to {address:#x}, which no segment loads")

    def _string(self, at: int) -> str:
        table = self._value(_DT_STRTAB)
        if table is None or at >= self._strings_size:
            raise Malformed("the dynamic section names a string that is not in its table")
        start = self._offset(table) + at
        length = min(self._strings_size - at, _STRING_LIMIT, max(0, self._source.size - start))
        text, end, _ = self._source.read(start, length).partition(b"\0")
        if not end:
            raise Malformed("a string of the dynamic section has no end")
        return text.decode("utf-8", "replace")

    def strings(self, tag: int) -> tuple[str, ...]:
        """The strings of all entries with this tag."""
        return tuple(self._string(value) for found, value in self._entries if found == tag)

    def versions(self) -> tuple[tuple[str, str], ...]:
        """What ``.gnu.version_r`` lists, in its order."""
        address, left = self._value(_DT_VERNEED), self._value(_DT_VERNEEDNUM) or 0
        if left > _VERSIONS_LIMIT:
            raise Malformed(f"version needs on {left} libraries are claimed")
        need, version = struct.Struct(f"{self._form.order}HHIII"), struct.Struct(f"{self._form.order}IHHII")
        found: list[tuple[str, str]] = []
        at = self._offset(address) if address is not None and left else 0
        while at and left:
            _, count, file, first, following = need.unpack(_table(self._source, "version needs", at, need.size))
            library, aux = self._string(file), at + first
            for _ in range(count):
                _, _, _, name, step = version.unpack(_table(self._source, "version needs", aux, version.size))
                found.append((library, self._string(name)))
                if len(found) > _VERSIONS_LIMIT:
                    raise Malformed("the version needs have no end")
                if not step:
                    break
                aux += step
            at, left = (at + following if following else 0), left - 1
        return tuple(found)
