"""Splitting a fat wheel; one that cannot be split safely is rejected with every reason."""

import hashlib
import json

import pytest

from fatwheel.errors import UsageError, VerificationError
from fatwheel.wheels.formats import fatbin
from fatwheel.wheels.formats.elf import read_elf
from fatwheel.wheels.formats.fatbin import read_code
from fatwheel.wheels.formats.record import encode_digest
from fatwheel.wheels.io.byte_sources import BytesSource
from fatwheel.wheels.making.fatbin_filter import filter_entries
from fatwheel.wheels.making.repack import Changes, repack
from fatwheel.wheels.making.split import PartSpec, split
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.contents import examine
from fatwheel.wheels.verify import verify
from tests.unit.wheels.synthetic import TAGS, ElfFile, container, demo, entry, library, rezip, stamp

FAT = "1.0+cu130"
FAMILIES = {
    "sm9x": (["8.0", "9.0a"], ["8.0", "8.6", "8.9", "9.0"]),
    "sm12x": (["8.0", "12.0f"], ["12.0", "12.1"]),
}


def part(family: str, targets=None, covers=None) -> PartSpec:
    told = FAMILIES[family]
    version = f"{FAT}.{family}"
    said = stamp(version=version, family=family, targets=targets or told[0], covers=covers or told[1])
    return PartSpec(f"cu130-x86_64-{family}", f"demo_jit-{version}-{TAGS}.whl", said)


PARTS = [part("sm9x"), part("sm12x")]
CODE = ("80", "90a", "120f")


@pytest.fixture
def fat(tmp_path):
    def make(files=None, **options):
        held = files or {"demo_jit/k.so": library(*CODE), "demo_jit/__init__.py": b"", "demo_jit/cpu.so": library()}
        said = stamp(version=FAT, family=None, targets=["8.0", "9.0a", "12.0f"], covers=["8.0", "9.0", "12.0"])
        return demo(tmp_path, held, version=FAT, stamped=said, **options)

    return make


def halves(wheel, parts, folder, **options):
    return {done.cell.rsplit("-", 1)[1]: done for done in split(wheel, parts, folder, **options)}


def code(wheel) -> dict[str, list[str]]:
    with Archive.open(wheel) as archive:
        seen = examine(archive, archive.by_name.values(), digests=False)
    return {one.member.name: [str(e.target) for e in one.entries] for one in seen if one.entries}


def test_each_part_has_its_own_targets_and_name(fat, tmp_path):
    done = halves(fat(), PARTS, tmp_path / "parts")
    nine, twelve = (tmp_path / "parts" / done[name].wheel for name in ("sm9x", "sm12x"))
    assert code(nine) == {"demo_jit/k.so": ["8.0", "9.0a"]}
    assert code(twelve) == {"demo_jit/k.so": ["8.0", "12.0f"]}
    assert (done["sm9x"].filtered, done["sm9x"].bytes) == (["demo_jit/k.so"], nine.stat().st_size)
    for wheel in (nine, twelve):
        assert [finding.kind for finding in verify(wheel).errors] == []


def test_folder_names_follow_and_other_metadata_stays(fat, tmp_path):
    wheel = fat(metadata={"Summary": "Version: no header", "Requires-Dist": ["numpy"]})
    done = halves(wheel, PARTS, tmp_path / "parts")
    with Archive.open(tmp_path / "parts" / done["sm9x"].wheel) as archive:
        assert archive.dist_info == "demo_jit-1.0+cu130.sm9x.dist-info"
        text = archive.read(archive.by_name[f"{archive.dist_info}/METADATA"]).decode()
    assert "\nVersion: 1.0+cu130.sm9x\n" in text
    assert "\nSummary: Version: no header\n" in text
    assert "\nRequires-Dist: numpy\n" in text


def test_splitting_again_changes_nothing(fat, tmp_path):
    done = halves(fat(), PARTS, tmp_path / "parts")
    once = tmp_path / "parts" / done["sm9x"].wheel
    again = halves(once, [PARTS[0]], tmp_path / "again")
    assert again["sm9x"].filtered == []
    assert (tmp_path / "again" / once.name).read_bytes() == once.read_bytes()


def test_equal_wheels_split_into_equal_bytes(fat, tmp_path):
    wheel = fat()
    first, second = (halves(wheel, PARTS, tmp_path / name) for name in "ab")
    for family in first:
        names = [folder / first[family].wheel for folder in (tmp_path / "a", tmp_path / "b")]
        assert names[0].read_bytes() == names[1].read_bytes()
    assert first == second


@pytest.mark.parametrize(("rule", "there"), [("keep", True), ("drop", False)])
def test_a_library_without_code_for_a_part_is_kept_or_dropped_and_reported(rule, there, fat, tmp_path):
    files = {"demo_jit/k.so": library(*CODE), "demo_jit/only.so": library("90a")}
    done = halves(fat(files), PARTS, tmp_path / "parts", empty=rule)["sm12x"]
    with Archive.open(tmp_path / "parts" / done.wheel) as archive:
        assert ("demo_jit/only.so" in archive.by_name) is there
    assert (done.emptied, done.dropped) == ((["demo_jit/only.so"], []) if there else ([], ["demo_jit/only.so"]))


def test_a_single_cell_can_be_written(fat, tmp_path):
    done = halves(fat(), PARTS, tmp_path / "parts", only="*-sm12x")
    assert list(done) == ["sm12x"]
    assert [path.name for path in (tmp_path / "parts").iterdir()] == [done["sm12x"].wheel]
    with pytest.raises(UsageError, match="no cell matches"):
        halves(fat(), PARTS, tmp_path / "none", only="nope")


def refused(wheel, parts, folder) -> str:
    with pytest.raises(VerificationError) as caught:
        list(split(wheel, parts, folder))
    assert not folder.exists() or not list(folder.iterdir())
    return str(caught.value)


def test_unassigned_and_missing_code_are_reported_together(fat, tmp_path):
    said = refused(fat({"demo_jit/k.so": library("80", "90a", "100a")}), PARTS, tmp_path / "parts")
    assert "it contains code for 10.0a (demo_jit/k.so), which no cell has as a target" in said
    assert "cu130-x86_64-sm12x has the target 12.0f, for which no library contains code" in said


def test_a_library_that_needs_removed_ptx_is_rejected(fat, tmp_path):
    files = {"demo_jit/k.so": library(*CODE), "demo_jit/old.so": library("80", "90a", ptx=["80"])}
    said = refused(fat(files), PARTS, tmp_path / "parts")
    assert "demo_jit/old.so runs on 12.0 12.1 through PTX that cu130-x86_64-sm12x does not keep" in said


def test_ptx_of_a_part_is_kept(fat, tmp_path):
    parts = [part("sm9x"), part("sm12x", targets=["8.0+PTX", "12.0f"])]
    files = {"demo_jit/k.so": library(*CODE, ptx=["80"])}
    done = halves(fat(files), parts, tmp_path / "parts")
    assert code(tmp_path / "parts" / done["sm12x"].wheel) == {"demo_jit/k.so": ["8.0", "12.0f", "8.0"]}
    assert code(tmp_path / "parts" / done["sm9x"].wheel) == {"demo_jit/k.so": ["8.0", "9.0a"]}


def test_relocatable_code_and_unknown_headers_are_rejected(fat, tmp_path):
    linked = ElfFile(sections={".nv_fatbin": container(entry(90, "a", kind=8))}).build()
    odd = ElfFile(sections={".nv_fatbin": b"odd bytes" + bytes(7)}).build()
    said = refused(fat({"demo_jit/l.so": linked, "demo_jit/odd.so": odd}), PARTS, tmp_path / "parts")
    assert "demo_jit/l.so contains relocatable device code" in said
    assert "demo_jit/odd.so: expected a fat binary at" in said


def test_nvidia_libraries_are_rejected(fat, tmp_path):
    wheel = fat()
    theirs = wheel.rename(wheel.with_name("nvidia_nccl_cu13-2.27.3-py3-none-manylinux2014_x86_64.whl"))
    with pytest.raises(UsageError, match="NVIDIA's own libraries cannot be split"):
        list(split(theirs, PARTS, tmp_path / "parts"))


def test_tags_that_differ_from_the_cell_are_rejected(fat, tmp_path):
    wheel = fat(tags="cp39-abi3-manylinux_2_34_x86_64")
    with pytest.raises(UsageError, match="its tags are"):
        list(split(wheel, PARTS, tmp_path / "parts"))


def test_a_standalone_fat_binary_is_filtered_too(fat, tmp_path):
    bare = container(entry(80), entry(90, "a"), entry(120, "f"))
    done = halves(fat({"demo_jit/k.fatbin": bare}), PARTS, tmp_path / "parts")
    assert code(tmp_path / "parts" / done["sm9x"].wheel) == {"demo_jit/k.fatbin": ["8.0", "9.0a"]}


def test_kept_entries_keep_their_bytes_and_nothing_else_moves():
    payloads = {arch: bytes([arch]) * 40 for arch in (80, 90, 120)}
    two = [container(*(entry(arch, payload=payloads[arch]) for arch in payloads)) for _ in range(2)]
    data = bytearray(ElfFile(sections={".text": b"host code", ".nv_fatbin": b"".join(two), ".data": b"end"}).build())
    before = bytes(data)
    source = BytesSource(before)
    containers = read_code(source, read_elf(source))
    filter_entries(data, containers, lambda one: one.target.major != 9)
    after = BytesSource(bytes(data))
    kept = read_code(after, read_elf(after))
    assert [one.offset for one in kept] == [one.offset for one in containers]
    assert [[str(e.target) for e in one.entries] for one in kept] == [["8.0", "12.0"]] * 2
    digests = [hashlib.sha256(after.read(e.payload, e.stored)).digest() for one in kept for e in one.entries]
    assert digests == [hashlib.sha256(payloads[arch]).digest() for arch in (80, 120)] * 2
    spans = [(one.offset, one.offset + one.size) for one in containers]
    outside = [at for at in range(len(before)) if not any(start <= at < end for start, end in spans)]
    assert len(data) == len(before)
    assert all(data[at] == before[at] for at in outside)


def test_a_container_is_unchanged_if_all_is_kept_and_empty_if_nothing_is():
    data = bytearray(container(entry(80), entry(90)))
    before = bytes(data)
    containers = tuple(fatbin.read_containers(BytesSource(before)))
    filter_entries(data, containers, lambda _: True)
    assert data == before
    filter_entries(data, containers, lambda _: False)
    assert [one.entries for one in fatbin.read_containers(BytesSource(bytes(data)))] == [()]


def test_each_part_has_its_own_bill_if_the_fat_wheel_has_one(fat, tmp_path):
    wheel = fat()
    repack(wheel, wheel.parent, Changes(sbom=True))
    done = halves(wheel, PARTS, tmp_path / "parts")
    for family, target in (("sm9x", "9.0a"), ("sm12x", "12.0f")):
        made = tmp_path / "parts" / done[family].wheel
        assert [finding.kind for finding in verify(made).errors] == []
        with Archive.open(made) as archive:
            bill = json.loads(archive.read(archive.by_name[f"{archive.dist_info}/sboms/fatwheel.cdx.json"]))
            library = archive.read(archive.by_name["demo_jit/k.so"])
        (part,) = (one for one in bill["components"] if one["name"] == "demo_jit/k.so")
        assert part["hashes"][0]["content"] == hashlib.sha256(library).hexdigest()
        said = {one["name"] for one in part["properties"] if one["name"].endswith("sass:bytes")}
        assert said == {"fatwheel:8.0:sass:bytes", f"fatwheel:{target}:sass:bytes"}
        assert bill["metadata"]["component"]["version"].endswith(family)


def test_a_wheel_that_differs_from_its_record_is_not_split(fat, tmp_path):
    wheel = rezip(fat(), lambda held: held.update({"demo_jit/__init__.py": b"import os\n"}))
    with pytest.raises(VerificationError, match="do not match the digest in RECORD"):
        list(split(wheel, PARTS, tmp_path / "parts"))
    assert not (tmp_path / "parts").exists()


def test_invalid_embedded_metadata_is_replaced(fat, tmp_path):
    def unread(held):
        folder = "demo_jit-1.0+cu130.sm9x.dist-info"
        stamped, record = f"{folder}/fatwheel.json", f"{folder}/RECORD"
        old, new = (f"{encode_digest(hashlib.sha256(data).digest())},{len(data)}" for data in (held[stamped], b"none"))
        held[stamped], held[record] = b"none", held[record].replace(old.encode(), new.encode())

    done = halves(fat(), PARTS, tmp_path / "parts")
    wheel = rezip(tmp_path / "parts" / done["sm9x"].wheel, unread)
    (again,) = split(wheel, PARTS[:1], tmp_path / "again")
    assert [finding.kind for finding in verify(tmp_path / "again" / again.wheel).errors] == []


def test_a_build_number_is_rejected(fat, tmp_path):
    wheel = fat()
    wheel = wheel.rename(wheel.with_name(wheel.name.replace(f"-{FAT}-", f"-{FAT}-1-")))
    with pytest.raises(UsageError, match="it has a build number"):
        list(split(wheel, PARTS, tmp_path / "parts"))
