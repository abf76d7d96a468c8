"""Filtering fat binaries keeps the bytes and order of selected entries, and is idempotent."""

from hypothesis import given
from hypothesis import strategies as st

from fatwheel.wheels.formats.fatbin import read_containers
from fatwheel.wheels.io.byte_sources import BytesSource
from fatwheel.wheels.making.fatbin_filter import filter_entries
from tests.unit.wheels.synthetic import container, entry

TARGETS = st.sampled_from([(75, ""), (80, ""), (90, "a"), (100, "a"), (120, "f"), (121, "a")])
ENTRIES = st.builds(
    lambda wanted, kind, payload, header, packed: entry(
        *wanted, kind=kind, payload=payload, header=header, packed=packed, raw=9 * len(payload)
    ),
    TARGETS,
    st.sampled_from([1, 2]),
    st.binary(min_size=1, max_size=200),
    st.sampled_from([64, 80, 112]),
    st.sampled_from(["none", "lz4", "zstd"]),
)
FILES = st.lists(st.tuples(st.lists(ENTRIES, max_size=5), st.sampled_from([0, 8, 64])), min_size=1, max_size=4).map(
    lambda parts: b"".join(container(*entries) + bytes(gap) for entries, gap in parts)
)
WANTED = st.sets(TARGETS)


def target(one) -> tuple[int, str]:
    return one.target.major * 10 + one.target.minor, one.target.suffix


def code(data: bytes) -> list[list[tuple[tuple[int, str], bytes]]]:
    source = BytesSource(data)
    return [
        [(target(e), source.read(e.offset, e.end - e.offset)) for e in one.entries] for one in read_containers(source)
    ]


@given(FILES, WANTED)
def test_filtering_keeps_exactly_the_selected_entries_and_is_idempotent(before, wanted):
    def keep(one) -> bool:
        return target(one) in wanted

    data = bytearray(before)
    filter_entries(data, tuple(read_containers(BytesSource(before))), keep)
    after = bytes(data)
    assert len(after) == len(before)
    assert code(after) == [[row for row in one if row[0] in wanted] for one in code(before)]
    filter_entries(data, tuple(read_containers(BytesSource(after))), keep)
    assert bytes(data) == after
