"""Any packed wheel is valid, and `verify` finds any later change."""

import tempfile
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fatwheel.wheels.formats import elf, fatbin
from fatwheel.wheels.formats.record import Line, read_record, write_record
from fatwheel.wheels.making.pack import embed_metadata
from fatwheel.wheels.making.placeholder import write_placeholder
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.verify import verify
from tests.unit.wheels.synthetic import TAGS, VERSION, demo, library, rezip, stamp

PART = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters="/\\:"), min_size=1, max_size=8
)
NAMES = st.lists(PART, min_size=1, max_size=4).map("/".join)
BYTES = st.binary(max_size=300).filter(lambda data: data[:4] not in (elf.MAGIC, fatbin.MAGIC))
TREES = st.dictionaries(NAMES, BYTES, min_size=1, max_size=6)


def fits(tree) -> bool:
    """Whether both a file system and a wheel can contain it."""
    names = {f"demo_jit/{name}".lower() for name in tree}
    folders = {"/".join(name.split("/")[:depth]) for name in names for depth in range(1, name.count("/") + 1)}
    return (
        len(names) == len(tree)
        and not names & folders
        and len({f.lower() for f in folders}) == len(folders)
        and not any(part in (".", "..", "__pycache__") for name in names for part in name.split("/"))
        and all(len(part.encode()) < 200 for name in names for part in name.split("/"))
    )


def written(folder, tree) -> Path:
    files = {f"demo_jit/{name}": data for name, data in tree.items()} | {"demo_jit/k.so": library("120f")}
    return demo(Path(folder), files)


def installed(wheel) -> dict[str, bytes]:
    with Archive.open(wheel) as archive:
        return {name: archive.read(member) for name, member in archive.by_name.items()}


@settings(deadline=None)
@given(TREES)
def test_any_packed_wheel_is_valid_and_restores_its_files(tree):
    assume(fits(tree) and "k.so" not in tree)
    with tempfile.TemporaryDirectory() as folder:
        wheel = written(folder, tree)
        assert [f for f in verify(wheel).findings if f.kind != "member-case"] == []
        held = installed(wheel)
        assert {name: held[f"demo_jit/{name}"] for name in tree} == tree


@settings(deadline=None)
@given(TREES)
def test_embedding_metadata_keeps_everything_else(tree):
    assume(fits(tree) and "k.so" not in tree)
    with tempfile.TemporaryDirectory() as folder:
        wheel = written(folder, tree)
        stamped = embed_metadata(wheel, Path(folder) / "stamped", stamp())
        assert installed(stamped) == installed(wheel)
        assert stamped.read_bytes() == wheel.read_bytes()


TREE = {"a.py": b"x = 1\n" * 50, "data/b.bin": bytes(range(256)), "empty": b""}


@settings(deadline=None)
@given(st.integers(0, 1 << 30), st.integers(1, 255))
def test_one_changed_byte_is_found_or_does_not_change_installed_files(place, flip):
    with tempfile.TemporaryDirectory() as folder:
        wheel = written(folder, TREE)
        before, data = installed(wheel), bytearray(wheel.read_bytes())
        data[place % len(data)] ^= flip
        wheel.write_bytes(data)
        if not verify(wheel).findings:
            assert installed(wheel) == before


@settings(deadline=None)
@given(st.sampled_from(["a.py", "data/b.bin", "k.so"]), st.integers(0, 1 << 20), st.integers(1, 255))
def test_one_changed_byte_in_a_member_of_a_valid_zip_is_found(name, place, flip):
    def change(members):
        data = bytearray(members[f"demo_jit/{name}"])
        data[place % len(data)] ^= flip
        members[f"demo_jit/{name}"] = bytes(data)

    with tempfile.TemporaryDirectory() as folder:
        found = verify(rezip(written(folder, TREE), change)).errors
        assert ("record-hash", f"demo_jit/{name}") in [(f.kind, f.member) for f in found]


@settings(deadline=None)
@given(st.data())
def test_a_renamed_missing_or_added_member_is_found(data):
    def change(members):
        name = data.draw(st.sampled_from(sorted(members)))
        what = data.draw(st.sampled_from(["rename", "remove", "add"]))
        if what == "add":
            members[f"{name}.orig"] = members[name]
        else:
            held = members.pop(name)
            if what == "rename":
                members[f"{name}x"] = held

    with tempfile.TemporaryDirectory() as folder:
        assert not verify(rezip(written(folder, TREE), change)).valid


@settings(deadline=None)
@given(
    st.sampled_from(["demo_jit", "demo"]),
    st.sampled_from([VERSION, "1.0", "1.0+cu130", "1.0+cu130.sm9x", "1.0.post1+cu130.sm12x"]),
    st.sampled_from([TAGS, "cp310-abi3-manylinux_2_28_x86_64", "cp39-abi3-manylinux_2_34_x86_64", "py3-none-any"]),
)
def test_a_renamed_wheel_is_found(name, version, tags):
    renamed = f"{name}-{version}-{tags}.whl"
    with tempfile.TemporaryDirectory() as folder:
        wheel = written(folder, TREE)
        assert verify(wheel.rename(wheel.with_name(renamed))).valid == (renamed == f"demo_jit-{VERSION}-{TAGS}.whl")


@settings(deadline=None)
@given(st.integers(3000, 200_000))
def test_a_placeholder_of_any_size_is_valid(size):
    with tempfile.TemporaryDirectory() as folder:
        wheel = write_placeholder(
            Path(folder), f"demo_jit-{VERSION}-{TAGS}.whl", embedded=stamp(), size=size, import_name="demo_jit"
        )
        assert wheel.stat().st_size == size
        assert verify(wheel).findings == []


@settings(deadline=None)
@given(st.lists(st.builds(Line, st.text(st.characters(exclude_categories=("Cs",))), st.text("abc=,"), st.text("019"))))
def test_a_record_is_read_as_written(lines):
    assert list(read_record(write_record(lines))) == lines
