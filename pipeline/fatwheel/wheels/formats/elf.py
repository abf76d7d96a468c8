"""ELF files: the headers, dynamic section and symbol versions of libraries and programs."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from fatwheel.wheels.io.byte_sources import Malformed, Source

MAGIC = b"\x7fELF"
CUDA = 190  # e_machine of a cubin (EM_CUDA)
# Names as in platform tags. Machine 21 exists in both byte orders.
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
class _Layout:
    """The number format: ``order`` as in `struct`, and 32 or 64 bits."""

    order: str
    wide: bool

    @property
    def header(self) -> struct.Struct:
        """From byte 18: machine, and offset, entry size and count of program headers and sections."""
        return struct.Struct(f"{self.order}{'H12xQQ6xHHHHH' if self.wide else 'H8xII6xHHHHH'}")

    @property
    def section(self) -> struct.Struct:
        """Name, kind, flags, address, offset, size, link and more."""
        return struct.Struct(f"{self.order}{'IIQQQQIIQQ' if self.wide else '10I'}")

    @property
    def segment(self) -> struct.Struct:
        """A program header; the order of its fields differs between 32 and 64 bits."""
        return struct.Struct(f"{self.order}{'IIQQQQQQ' if self.wide else '8I'}")

    @property
    def dynamic(self) -> struct.Struct:
        """Tag and value."""
        return struct.Struct(f"{self.order}{'QQ' if self.wide else 'II'}")

    @property
    def header_size(self) -> int:
        """Size of the ELF header in bytes."""
        return 18 + self.header.size


@dataclass(frozen=True)
class Section:
    """A named range of the file; offset and size in bytes."""

    name: str
    kind: int
    offset: int
    size: int


@dataclass(frozen=True)
class Elf:
    """One ELF file. ``versions``: the libraries and symbol versions that it needs, as ``("libc.so.6", "GLIBC_2.28")``.

    ``end`` is the end of the last part in its headers, where appended data starts.
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
        """As in a platform tag: ``x86_64``; ``machine 190`` for one without a tag."""
        return MACHINES.get(self.machine, f"machine {self.machine}")

    @property
    def glibc(self) -> tuple[int, int] | None:
        """The glibc that it requires, by its symbol versions; None if it requires none."""
        floors = [floor for _, version in self.versions if (floor := _parse_glibc(version))]
        return max(floors, default=None)


def _parse_glibc(version: str) -> tuple[int, int] | None:
    if version == "GLIBC_ABI_DT_RELR":  # packed relocations, supported since glibc 2.36
        return (2, 36)
    match = re.fullmatch(r"GLIBC_(\d{1,4})\.(\d{1,4})(\.\d+)*", version)
    return (int(match[1]), int(match[2])) if match else None


def read_elf(source: Source) -> Elf:
    """Read the headers, the dynamic section and the version needs. Raises `Malformed`."""
    header = source.read(0, min(64, source.size))
    if header[:4] != MAGIC:
        raise Malformed("not an ELF file")
    if len(header) > 6 and not (header[4] in (1, 2) and header[5] in (1, 2)):
        raise Malformed("invalid ELF class or byte order")
    layout = _Layout(">" if header[5:6] == b"\2" else "<", wide=header[4:5] != b"\1")
    if len(header) < layout.header_size:
        raise Malformed("truncated ELF header")
    machine: int
    machine, phoff, shoff, phentsize, phnum, shentsize, shnum, shstrndx = layout.header.unpack_from(header, 18)
    sections = _read_sections(source, layout, shoff, shentsize, (shnum, shstrndx))
    loads, dynamic = _read_segments(source, layout, phoff, phentsize, phnum)
    found = _Dynamic(source, layout, loads, dynamic)
    return Elf(
        machine=machine,
        sections=sections,
        soname=next(iter(found.strings(_DT_SONAME)), None),
        needed=found.strings(_DT_NEEDED),
        rpath=_split_paths(found.strings(_DT_RPATH)),
        runpath=_split_paths(found.strings(_DT_RUNPATH)),
        versions=found.versions(),
        end=max(
            phoff + phentsize * phnum,
            shoff + shentsize * len(sections),
            *(start + size for _, start, size in loads),
            *(one.offset + one.size for one in sections if one.kind not in (_SHT_NULL, _SHT_NOBITS)),
        ),
    )


def _split_paths(lists: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path for joined in lists if joined for path in joined.split(":"))  # glibc ignores an empty list


def _read_table(source: Source, what: str, offset: int, size: int) -> bytes:
    if size > _TABLE_LIMIT:
        raise Malformed(f"the {what} has an implausible size of {size} bytes")
    try:
        return source.read(offset, size)
    except Malformed as error:
        raise Malformed(f"the {what} is outside the file ({error.what})") from None


def _read_sections(
    source: Source, layout: _Layout, offset: int, entry: int, numbers: tuple[int, int]
) -> tuple[Section, ...]:
    count, names_at = numbers
    row = layout.section
    if offset == 0:
        return ()
    if entry != row.size:
        raise Malformed(f"expected section headers of {row.size} bytes, found {entry}")
    if count == 0 or names_at == 0xFFFF:  # too large for the header: section 0 has the numbers
        _, _, _, _, _, first_size, first_link, *_ = row.unpack(_read_table(source, "section table", offset, row.size))
        count, names_at = count or first_size, first_link if names_at == 0xFFFF else names_at
    rows = list(row.iter_unpack(_read_table(source, "section table", offset, row.size * count)))
    if names_at == 0 or not rows:
        names = b""
    elif names_at >= len(rows):
        raise Malformed("invalid index of the section name table")
    else:
        names = _read_table(source, "section name table", rows[names_at][4], rows[names_at][5])
    sections = []
    for name_at, kind, _, _, start, size, *_ in rows:
        end = names.find(b"\0", name_at)
        name = names[name_at : max(end, name_at)].decode("utf-8", "replace")
        if kind not in (_SHT_NULL, _SHT_NOBITS) and start + size > source.size:
            raise Malformed(f"section {name or '?'} is outside the file")
        sections.append(Section(name, kind, start, size))
    return tuple(sections)


_Segment = tuple[int, int, int]  # address, offset, bytes in the file


def _read_segments(
    source: Source, layout: _Layout, offset: int, entry: int, count: int
) -> tuple[list[_Segment], _Segment | None]:
    row = layout.segment
    if offset == 0 or count == 0:
        return [], None
    if entry != row.size:
        raise Malformed(f"expected program headers of {row.size} bytes, found {entry}")
    loads: list[_Segment] = []
    dynamic: _Segment | None = None
    for kind, *fields in row.iter_unpack(_read_table(source, "program header table", offset, row.size * count)):
        start, address, _, size = fields[1:5] if layout.wide else fields[:4]
        if kind == _PT_LOAD:
            loads.append((address, start, size))
        elif kind == _PT_DYNAMIC:
            dynamic = (address, start, size)
    return loads, dynamic


class _Dynamic:
    """The dynamic section, located as by the loader: through program headers, so that section names cannot mislead."""

    def __init__(self, source: Source, layout: _Layout, loads: list[_Segment], dynamic: _Segment | None) -> None:
        self._source, self._layout, self._loads = source, layout, loads
        self._entries: list[tuple[int, int]] = []
        if dynamic:
            row = layout.dynamic
            size = min(dynamic[2], _DYNAMIC_LIMIT) // row.size * row.size
            for tag, value in row.iter_unpack(_read_table(source, "dynamic section", dynamic[1], size)):
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
        raise Malformed(f"the dynamic section points to {address:#x}, which is in no segment")

    def _string(self, at: int) -> str:
        table = self._value(_DT_STRTAB)
        if table is None or at >= self._strings_size:
            raise Malformed("the dynamic section refers to a string outside its table")
        start = self._offset(table) + at
        length = min(self._strings_size - at, _STRING_LIMIT, max(0, self._source.size - start))
        text, end, _ = self._source.read(start, length).partition(b"\0")
        if not end:
            raise Malformed("unterminated string in the dynamic section")
        return text.decode("utf-8", "replace")

    def strings(self, tag: int) -> tuple[str, ...]:
        """The strings of all entries with this tag."""
        return tuple(self._string(value) for found, value in self._entries if found == tag)

    def versions(self) -> tuple[tuple[str, str], ...]:
        """The entries of ``.gnu.version_r``, in order."""
        address, left = self._value(_DT_VERNEED), self._value(_DT_VERNEEDNUM) or 0
        if left > _VERSIONS_LIMIT:
            raise Malformed(f"implausible number of version needs: {left}")
        need, version = struct.Struct(f"{self._layout.order}HHIII"), struct.Struct(f"{self._layout.order}IHHII")
        found: list[tuple[str, str]] = []
        at = self._offset(address) if address is not None and left else 0
        while at and left:
            _, count, file, first, following = need.unpack(_read_table(self._source, "version needs", at, need.size))
            library, aux = self._string(file), at + first
            for _ in range(count):
                _, _, _, name, step = version.unpack(_read_table(self._source, "version needs", aux, version.size))
                found.append((library, self._string(name)))
                if len(found) > _VERSIONS_LIMIT:
                    raise Malformed("too many version needs")
                if not step:
                    break
                aux += step
            at, left = (at + following if following else 0), left - 1
        return tuple(found)
