import shutil
import subprocess

import pytest

from fatwheel.wheels.formats.elf import read_elf
from fatwheel.wheels.io.byte_sources import BytesSource, FileSource, Malformed
from tests.unit.wheels.synthetic import ElfFile


def read(data: bytes):
    return read_elf(BytesSource(data))


def test_names_and_offsets_of_sections():
    found = read(ElfFile(sections={".text": b"abc", ".nv_fatbin": bytes(24)}).build())
    assert [(s.name, s.size) for s in found.sections[1:3]] == [(".text", 3), (".nv_fatbin", 24)]


def test_the_dynamic_section():
    found = read(
        ElfFile(
            needed=["libc.so.6", "libcuda.so.1"], soname="libk.so.1", rpath="/usr/lib:$ORIGIN", runpath="$ORIGIN/.."
        ).build()
    )
    assert found.needed == ("libc.so.6", "libcuda.so.1")
    assert found.soname == "libk.so.1"
    assert found.rpath == ("/usr/lib", "$ORIGIN")
    assert found.runpath == ("$ORIGIN/..",)


@pytest.mark.parametrize(
    ("machine", "name"), [(62, "x86_64"), (183, "aarch64"), (190, "machine 190"), (8, "machine 8")]
)
def test_the_cpu_is_named_as_in_a_platform_tag(machine, name):
    assert read(ElfFile(machine=machine).build()).architecture == name


@pytest.mark.parametrize(
    ("names", "floor"),
    [
        (["GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.9"], (2, 17)),
        (["GLIBC_2.34"], (2, 34)),
        (["GLIBC_2.2.5", "GLIBC_ABI_DT_RELR"], (2, 36)),
        (["GLIBC_PRIVATE", "GLIBCXX_3.4.30"], None),
        ([], None),
    ],
)
def test_the_glibc_floor_is_the_highest_version_needed_by_number(names, floor):
    versions = {"libm.so.6": ["GLIBC_2.2"] if floor else ["OTHER_9"], "libc.so.6": names}
    assert read(ElfFile(versions=versions).build()).glibc == floor


def test_versions_come_with_their_library():
    found = read(
        ElfFile(versions={"libc.so.6": ["GLIBC_2.17"], "libstdc++.so.6": ["GLIBCXX_3.4", "CXXABI_1.3"]}).build()
    )
    assert found.versions == (
        ("libc.so.6", "GLIBC_2.17"), ("libstdc++.so.6", "GLIBCXX_3.4"), ("libstdc++.so.6", "CXXABI_1.3"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "not an ELF"),
        (b"MZ" + bytes(80), "not an ELF"),
        (b"\x7fELF", "truncated"),
        (b"\x7fELF\x01\x01" + bytes(20), "truncated"),
        (b"\x7fELF\x02\x01" + bytes(50), "truncated"),
        (b"\x7fELF\x03\x01" + bytes(80), "invalid ELF class"),
        (b"\x7fELF\x02\x00" + bytes(80), "or byte order"),
    ],
)
def test_invalid_headers_are_errors(data, what):
    with pytest.raises(Malformed, match=what):
        read(data)


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("order", ["<", ">"])
def test_files_of_32_bits_and_both_byte_orders_are_read_alike(order, wide):
    parts = {
        "needed": ["libc.so.6"], "soname": "libk.so.1", "rpath": "/usr/lib", "runpath": "$ORIGIN",
        "versions": {"libc.so.6": ["GLIBC_2.4", "GLIBC_2.17"], "libm.so.6": ["GLIBC_2.27"]}, "machine": 22,
        "sections": {".text": b"abc"},
    }  # fmt: skip
    plain, found = read(ElfFile(**parts).build()), read(ElfFile(**parts, order=order, wide=wide).build())
    for name in ("architecture", "needed", "soname", "rpath", "runpath", "versions", "glibc"):
        assert getattr(found, name) == getattr(plain, name)
    assert [(s.name, s.size) for s in found.sections][:2] == [(s.name, s.size) for s in plain.sections][:2]
    assert (found.architecture, found.glibc, found.rpath) == ("s390x", (2, 27), ("/usr/lib",))


def test_an_empty_search_path_is_ignored_and_an_empty_entry_is_the_current_folder():
    assert read(ElfFile(runpath="").build()).runpath == ()
    assert read(ElfFile(runpath="$ORIGIN:").build()).runpath == ("$ORIGIN", "")


def test_every_truncation_is_an_error_or_harmless_but_never_a_traceback():
    data = ElfFile(
        sections={".nv_fatbin": bytes(64)},
        needed=["libc.so.6"],
        runpath="$ORIGIN",
        versions={"libc.so.6": ["GLIBC_2.17"]},
    ).build()
    for length in range(len(data)):
        with pytest.raises(Malformed):  # the section table stands at the end
            read(data[:length])


def test_too_many_declared_version_needs_are_an_error():
    data = bytearray(ElfFile(versions={"libc.so.6": ["GLIBC_2.17"] * 3}).build())
    at = data.find(b"\x01\x00\x03\x00")
    data[at + 2 : at + 4] = b"\xff\xff"
    data[at + 16 + 2 * 16 + 12] = 16  # the last of them leads on, to whatever follows
    with pytest.raises(Malformed):
        read(bytes(data))


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_a_library_made_by_gcc(tmp_path):
    source, library = tmp_path / "k.c", tmp_path / "libk.so"
    source.write_text('#include <stdio.h>\nint say(void) { return puts("hello"); }\n')
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wl,-soname,libk.so.3", "-Wl,-rpath,/opt/nowhere:$ORIGIN", "-o", library, source],
        check=True,
    )
    with library.open("rb") as file:
        found = read_elf(FileSource(file))
    assert found.soname == "libk.so.3"
    assert "libc.so.6" in found.needed
    assert found.rpath + found.runpath == ("/opt/nowhere", "$ORIGIN")
    assert found.glibc is not None
    assert found.glibc >= (2, 2)
    assert ".dynsym" in {section.name for section in found.sections}
