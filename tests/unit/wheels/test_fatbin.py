import io

import pytest

from fatwheel.wheels.formats.elf import read_elf
from fatwheel.wheels.formats.fatbin import read_code, read_containers
from fatwheel.wheels.io.byte_sources import BytesSource, FileSource, Malformed
from tests.unit.wheels.synthetic import ElfFile, container, entry


def entries(data: bytes):
    return [e for one in read_containers(BytesSource(data)) for e in one.entries]


@pytest.mark.parametrize(
    ("arch", "suffix", "target"),
    [
        (75, "", "7.5"),
        (90, "a", "9.0a"),
        (100, "f", "10.0f"),
        (120, "f", "12.0f"),
        (121, "a", "12.1a"),
        (103, "", "10.3"),
    ],
)
def test_the_suffix_comes_from_the_flags(arch, suffix, target):
    (found,) = entries(container(entry(arch, suffix)))
    assert str(found.target) == target


@pytest.mark.parametrize(("kind", "code"), [(1, "ptx"), (2, "sass"), (8, "other"), (64, "other")])
def test_the_kind_is_machine_code_ptx_or_other(kind, code):
    assert entries(container(entry(kind=kind)))[0].code == code


@pytest.mark.parametrize("packed", ["lz4", "zstd"])
def test_a_compressed_entry_has_its_stored_and_its_raw_size(packed):
    (found,) = entries(container(entry(packed=packed, payload=b"x" * 13, raw=500)))
    assert (found.compression, found.stored, found.raw) == (packed, 16, 500)


def test_an_uncompressed_entry_has_equal_raw_and_stored_sizes():
    (found,) = entries(container(entry(payload=bytes(80))))
    assert (found.compression, found.stored, found.raw) == ("none", 80, 80)


def test_entry_headers_may_be_longer():
    found = entries(container(entry(header=112), entry(120, "f", header=80)))
    assert [(e.header_size, e.payload - e.offset) for e in found] == [(112, 112), (80, 80)]


@pytest.mark.parametrize("gap", [0, 8, 64, 4096, (1 << 20) + 8])
def test_zeros_between_fat_binaries_are_skipped(gap):
    data = container(entry(80)) + bytes(gap) + container(entry(90, "a")) + bytes(gap)
    assert [str(e.target) for e in entries(data)] == ["8.0", "9.0a"]


def test_an_empty_fat_binary_and_empty_data_have_no_entries():
    assert entries(container()) == entries(bytes(64)) == entries(b"") == []


def test_offsets_count_from_the_start_of_the_source():
    data = bytes(24) + container(entry(80), entry(90))
    (found,) = read_containers(BytesSource(data), 24)
    assert found.offset == 24
    assert found.offset + found.size == len(data)
    assert [e.offset for e in found.entries] == [40, 40 + 64 + 64]
    assert found.entries[-1].end == len(data)


def test_both_sections_of_a_library_are_read():
    data = ElfFile(
        sections={".nv_fatbin": container(entry(80)), ".data": bytes(9), "__nv_relfatbin": container(entry(90, "a"))}
    ).build()
    for source in (BytesSource(data), FileSource(io.BytesIO(data))):
        found = read_code(source, read_elf(source))
        assert [str(e.target) for one in found for e in one.entries] == ["8.0", "9.0a"]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"junkjunk" * 4, "expected a fat binary"),
        (container(entry())[:-8], "has a size of"),
        (container(entry()) + b"\x01", "too few"),
        (container(entry()[:40]), "too few for an entry"),
        (container(entry(header=64).replace(b"\x40\0\0\0", b"\x08\0\0\0", 1)), "has 8 and"),
        (container(entry(arch=5)), "unknown target"),
        (container(entry(arch=2**31)), "unknown target"),
        (b"\x50\xed\x55\xba\x02" + container()[5:], "unknown version"),
    ],
)
def test_an_invalid_fat_binary_is_an_error_with_the_reason(data, what):
    with pytest.raises(Malformed, match=what):
        entries(data)


def test_an_entry_cannot_be_for_a_and_f_at_once():
    data = bytearray(container(entry(90, "a")))
    data[16 + 42] |= 0x20
    with pytest.raises(Malformed, match="unknown target"):
        entries(bytes(data))


def test_a_section_outside_the_file_is_an_error():
    with pytest.raises(Malformed):
        list(read_containers(BytesSource(bytes(16)), 8, 64))
