"""ELF files and fat binaries are read as written, and invalid data never causes a traceback."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from fatwheel.wheels.formats.elf import read_elf
from fatwheel.wheels.formats.fatbin import read_code, read_containers
from fatwheel.wheels.io.byte_sources import BytesSource, Malformed
from tests.unit.wheels.synthetic import ElfFile, container, entry

TARGETS = st.sampled_from([(75, ""), (80, ""), (90, "a"), (100, "f"), (103, "a"), (120, "f"), (121, "")])
ENTRIES = st.builds(
    lambda target, kind, payload, packed, raw, header: (
        entry(*target, kind=kind, payload=payload, packed=packed, raw=raw, header=header),
        (f"{target[0] // 10}.{target[0] % 10}{target[1]}", {1: "ptx", 2: "sass"}.get(kind, "other")),
        (-(-len(payload) // 8) * 8, raw if packed != "none" else -(-len(payload) // 8) * 8),
    ),
    TARGETS,
    st.sampled_from([1, 2, 8]),
    st.binary(min_size=1, max_size=100),
    st.sampled_from(["none", "lz4", "zstd"]),
    st.integers(0, 1 << 40),
    st.sampled_from([64, 72, 80, 112]),
)
CONTAINERS = st.lists(st.tuples(st.lists(ENTRIES, max_size=5), st.integers(0, 40)), max_size=5)


def written(containers) -> bytes:
    parts = []
    for entries, gap in containers:
        one = container(*(data for data, _, _ in entries))
        parts.append(one + bytes(-len(one) % 8) + bytes(8 * gap))
    return b"".join(parts)


@given(CONTAINERS)
def test_every_entry_is_read_as_it_was_written(containers):
    found = [e for one in read_containers(BytesSource(written(containers))) for e in one.entries]
    told = [(target, sizes) for entries, _ in containers for _, target, sizes in entries]
    assert [((str(e.target), e.code), (e.stored, e.raw)) for e in found] == told


@given(CONTAINERS, CONTAINERS)
def test_a_library_has_the_entries_of_both_sections(first, second):
    data = ElfFile(sections={".nv_fatbin": written(first), "__nv_relfatbin": written(second)}).build()
    found = read_code(BytesSource(data), read_elf(BytesSource(data)))
    assert sum(len(one.entries) for one in found) == sum(len(entries) for entries, _ in [*first, *second])


MUTATIONS = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=8)


def mutated(data: bytes, mutations, cut: int | None) -> bytes:
    changed = bytearray(data)
    for place, value in mutations:
        changed[place % len(changed)] = value
    return bytes(changed if cut is None else changed[: cut % len(changed)])


@given(CONTAINERS, MUTATIONS, st.none() | st.integers(0, 1 << 20))
def test_mutated_fat_binaries_are_read_or_rejected(containers, mutations, cut):
    data = written(containers) + container(entry())
    with suppress(Malformed):
        for one in read_containers(BytesSource(mutated(data, mutations, cut))):
            assert all(e.stored >= 0 and e.end <= one.offset + one.size for e in one.entries)


LIBRARY = ElfFile(
    sections={".nv_fatbin": container(entry(90, "a"), entry(120, "f", kind=1)), "__nv_relfatbin": container(entry(80))},
    needed=["libc.so.6", "libcudart.so.13"],
    soname="libk.so",
    runpath="$ORIGIN:/opt",
    versions={"libc.so.6": ["GLIBC_2.17", "GLIBC_2.2.5"], "libm.so.6": ["GLIBC_2.29"]},
).build()


@given(MUTATIONS, st.none() | st.integers(0, 1 << 20))
def test_mutated_libraries_are_read_or_rejected(mutations, cut):
    source = BytesSource(mutated(LIBRARY, mutations, cut))
    with suppress(Malformed):
        headers = read_elf(source)
        assert headers.architecture
        assert headers.glibc is None or len(headers.glibc) == 2
        read_code(source, headers)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_rejected(data):
    for start in (data, b"\x7fELF\x02\x01" + data, b"\x50\xed\x55\xba\x01\0\x10\0" + data):
        source = BytesSource(start)
        for read in (read_elf, lambda s: list(read_containers(s))):
            with suppress(Malformed):
                read(source)
