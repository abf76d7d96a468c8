"""Fat binaries, ELF files and wheels with contents that tests choose byte by byte."""

from __future__ import annotations

import hashlib
import struct
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fatwheel.records.build import BuildRecord, ToolchainRecord
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.plan import Cell
from fatwheel.wheels.making.pack import pack

FLAGS = {"": 0x11, "a": 0x100011, "f": 0x200011}
VERSION = "1.0+cu130.sm12x"
TAGS = "cp39-abi3-manylinux_2_28_x86_64"
NAME = f"demo_jit-{VERSION}-{TAGS}.whl"


def entry(arch=90, suffix="", *, kind=2, payload=b"\x7fELF" + bytes(60), packed="none", raw=0, header=64) -> bytes:
    """One entry. ``packed``: none, lz4 or zstd, with ``raw`` bytes after decompression."""
    size = len(payload)
    padded = payload + bytes(-size % 8)
    flags = FLAGS[suffix] | {"none": 0, "lz4": 0x2000, "zstd": 0x8000}[packed]
    compressed = 0 if packed == "none" else size
    fixed = struct.pack(
        "<HHIQIIHHIIIQQQ", kind, 0x101, header, len(padded), compressed, 0, 8, 1, arch, 0, 0, flags, 0, raw
    )
    return fixed + bytes(header - len(fixed)) + padded


def container(*entries: bytes) -> bytes:
    """One fat binary."""
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


@dataclass
class ElfFile:
    """An ELF file with the parts that fatwheel reads, and no code."""

    sections: Mapping[str, bytes] = field(default_factory=dict)
    machine: int = 62
    needed: Sequence[str] = ()
    soname: str | None = None
    rpath: str | None = None
    runpath: str | None = None
    versions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    order: str = "<"  # as in `struct`
    wide: bool = True  # 64 bits, else 32

    def build(self) -> bytes:
        def packed(wide: str, narrow: str, *values) -> bytes:
            return struct.pack(self.order + (wide if self.wide else narrow), *values)

        head, segment, section, pair = (64, 56, 64, 16) if self.wide else (52, 32, 40, 8)
        strings = bytearray(b"\0")

        def string(text: str) -> int:
            at = len(strings)
            strings.extend(text.encode() + b"\0")
            return at

        dynamic = [(1, string(name)) for name in self.needed]
        for tag, text in ((14, self.soname), (15, self.rpath), (29, self.runpath)):
            if text is not None:
                dynamic.append((tag, string(text)))
        needs = b""
        for number, (library, names) in enumerate(self.versions.items(), 1):
            following = 0 if number == len(self.versions) else 16 + 16 * len(names)
            needs += packed("HHIII", "HHIII", 1, len(names), string(library), 16, following)
            for place, name in enumerate(names, 1):
                needs += packed("IHHII", "IHHII", 0, 0, 2, string(name), 0 if place == len(names) else 16)
        body = bytearray(bytes(head + 2 * segment))

        def put(data: bytes) -> int:
            body.extend(bytes(-len(body) % 8))
            at = len(body)
            body.extend(data)
            return at

        strings_at, needs_at = put(bytes(strings)), put(needs)
        dynamic += [(5, strings_at), (10, len(strings))]
        dynamic += [(0x6FFFFFFE, needs_at), (0x6FFFFFFF, len(self.versions))] if needs else []
        table = b"".join(packed("QQ", "II", *row) for row in [*dynamic, (0, 0)])
        dynamic_at = put(table)
        placed = [(name, put(data), len(data)) for name, data in self.sections.items()]
        names = b"\0" + b"".join(name.encode() + b"\0" for name, _, _ in placed) + b".shstrtab\0"
        placed.append((".shstrtab", put(names), len(names)))
        rows = bytes(section) + b"".join(
            packed("IIQQQQIIQQ", "10I", names.find(name.encode() + b"\0"), 1, 0, 0, at, size, 0, 0, 8, 0)
            for name, at, size in placed
        )
        rows_at = put(rows)
        body[:head] = packed(
            "4sBBB9xHHIQQQIHHHHHH", "4sBBB9xHHIIIIIHHHHHH", b"\x7fELF", 2 if self.wide else 1,
            1 if self.order == "<" else 2, 1, 3, self.machine, 1, 0, head, rows_at, 0, head, segment, 2, section,
            len(placed) + 1, len(placed),
        )  # fmt: skip
        parts = ((1, 5, 0, len(body), 4096), (2, 6, dynamic_at, len(table), pair // 2))
        body[head : head + 2 * segment] = b"".join(
            packed("IIQQQQQQ", "8I", kind, flags, at, at, at, size, size, align)
            if self.wide
            else packed("IIQQQQQQ", "8I", kind, at, at, at, size, size, flags, align)
            for kind, flags, at, size, align in parts
        )
        return bytes(body)


def library(*targets: str, ptx: Sequence[str] = (), **parts) -> bytes:
    """A library with machine code for targets like ``90a``, and PTX for others."""
    split = [(int(t.rstrip("af")), t.lstrip("0123456789"), 2) for t in targets]
    split += [(int(t.rstrip("af")), t.lstrip("0123456789"), 1) for t in ptx]
    code = container(*(entry(arch, suffix, kind=kind) for arch, suffix, kind in split)) if split else b""
    return ElfFile(sections={".text": bytes(32), ".nv_fatbin": code}, **parts).build()


def stamp(**changes) -> EmbeddedMetadata:
    """The embedded metadata of the demo wheel."""
    told = {
        "distribution": "demo-jit", "version": VERSION, "cuda": "cu130", "toolkit": "13.0", "arch": "x86_64",
        "family": "sm12x", "targets": ["12.0f"], "covers": ["12.0", "12.1"], "commit": None,
    }  # fmt: skip
    return EmbeddedMetadata(**{**told, **changes})


def demo(folder: Path, files: Mapping[str, bytes] | None = None, *, tags=TAGS, stamped=None, **options) -> Path:
    """A wheel of ``demo-jit`` with one library for 12.0f, or of other files."""
    tree = folder / "tree"
    held = {"demo_jit/k.so": library("120f"), "demo_jit/__init__.py": b""} if files is None else files
    for name, data in held.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    options = {"distribution": "demo-jit", "version": VERSION, "tags": tags, "embedded": stamped or stamp(), **options}
    return pack(tree, folder / "out", **options)


def rezip(wheel: Path, change, *, name: str | None = None) -> Path:
    """The wheel rewritten with `zipfile`; ``change`` edits its members, a dictionary of bytes."""
    with zipfile.ZipFile(wheel) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    change(members)
    target = wheel.parent / "changed" / (name or wheel.name)
    target.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return target


def cell(**changes) -> Cell:
    """The cell of the demo wheel."""
    told = {
        "id": "cu130-x86_64-sm12x", "package": "demo-jit", "version": "1.0", "cuda": "cu130", "toolkit": "13.0",
        "arch": "x86_64", "family": "sm12x", "targets": ["12.0f"], "covers": ["12.0", "12.1"],
        "local_version": "cu130.sm12x", "wheel": NAME, "artifact": "x", "image": None, "runner": None, "smoke": None,
    }  # fmt: skip
    return Cell(**{**told, **changes})


def built(wheel: Path, **changes) -> BuildRecord:
    """The build record of a wheel."""
    told = {
        "wheel": wheel.name, "bytes": wheel.stat().st_size, "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "cell": cell(), "engine": "host",
        "toolchain": ToolchainRecord(kind="none", release=None, nvcc=None, host_compiler=None),
        "commit": None,
    }  # fmt: skip
    return BuildRecord(**{**told, **changes})
