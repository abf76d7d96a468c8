"""However a wheel is renamed, METADATA, fatwheel.json, folders, bill of materials and RECORD agree."""

import hashlib
import json
import zipfile

import pytest

from fatwheel.errors import UsageError, VerificationError
from fatwheel.wheels.formats.metadata import read_headers
from fatwheel.wheels.formats.record import Line, encode_digest, write_record
from fatwheel.wheels.making.pack import embed_metadata
from fatwheel.wheels.making.repack import Changes, repack
from fatwheel.wheels.making.split import PartSpec, split
from fatwheel.wheels.making.variants import make_variants
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.read_embedded import read_embedded
from fatwheel.wheels.verify import verify
from tests.unit.wheels.synthetic import NAME, TAGS, VERSION, demo, library, rezip, stamp

INFO = f"demo_jit-{VERSION}.dist-info"
BILL = "sboms/fatwheel.cdx.json"
FILES = {"demo_jit/k.so": library("120f"), "demo_jit/__init__.py": b'__version__ = "1.0+cu130.sm12x"\n'}


def contents(wheel) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        assert len(set(archive.namelist())) == len(archive.namelist())
        return {name: archive.read(name) for name in archive.namelist()}


def changed(wheel, files, *, executable=()):
    """The wheel with these files added or replaced, and a RECORD that lists them."""

    def change(members):
        members.update(files)
        record = next(name for name in members if name.endswith(".dist-info/RECORD"))
        lines = [
            Line(name, encode_digest(hashlib.sha256(data).digest()), str(len(data)))
            for name, data in members.items()
            if name != record
        ]
        members[record] = write_record([*lines, Line(record, "", "")])

    made = rezip(wheel, change)
    if executable:
        with zipfile.ZipFile(made) as archive:
            held = [(info, archive.read(info)) for info in archive.infolist()]
        with zipfile.ZipFile(made, "w") as archive:
            for info, data in held:
                info.external_attr = (0o100755 if info.filename in executable else 0o100644) << 16
                archive.writestr(info, data)
    return made


def to_variant(wheel, folder):
    return make_variants([wheel], folder)[0]


def to_version(wheel, folder):
    return folder / repack(wheel, folder, Changes(label="")).wheel


def to_part(wheel, folder):
    part = PartSpec("cell", f"demo_jit-1.0-{TAGS}.whl", stamp(version="1.0"))
    (done,) = split(wheel, [part], folder)
    return folder / done.wheel


RENAMED = pytest.mark.parametrize("rename", [to_variant, to_version, to_part])


@RENAMED
def test_the_bill_of_materials_names_the_new_version_and_file(tmp_path, rename):
    wheel = demo(tmp_path, FILES)
    repack(wheel, wheel.parent, Changes(sbom=True))
    made = rename(wheel, tmp_path / "made")
    component = json.loads(contents(made)[f"demo_jit-1.0.dist-info/{BILL}"])["metadata"]["component"]
    assert component["version"] == "1.0"
    assert component["purl"] == f"pkg:pypi/demo-jit@1.0?file_name={made.name}"
    assert VERSION.encode() not in b"".join(
        data for name, data in contents(made).items() if not name.startswith("demo_jit/")
    )


@RENAMED
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_the_header_gets_the_new_version_whatever_the_line_endings(tmp_path, rename, end):
    head = ["Metadata-Version: 2.4", "Name: Demo.Jit", f"VERSION:  {VERSION}", "Summary: two", "  version: lines"]
    body = f"version: 0.1\r\n\r\nVersion: {VERSION}\nversion: 0.2"
    before = end.join([*head, "Author: Sch\N{LATIN SMALL LETTER O WITH DIAERESIS}n", "", ""]).encode() + body.encode()
    wheel = changed(demo(tmp_path, FILES), {f"{INFO}/METADATA": before})
    after = contents(rename(wheel, tmp_path / "made"))["demo_jit-1.0.dist-info/METADATA"]
    assert after == before.replace(f"VERSION:  {VERSION}".encode(), b"VERSION: 1.0", 1)


@RENAMED
def test_a_folded_version_and_bytes_that_are_not_utf8(tmp_path, rename):
    before = f"Metadata-Version: 2.4\nName: demo-jit\nVersion:\n {VERSION}\nAuthor: ".encode() + b"Sch\xf6n\n\n\xff\n"
    wheel = changed(demo(tmp_path, FILES), {f"{INFO}/METADATA": before})
    after = contents(rename(wheel, tmp_path / "made"))["demo_jit-1.0.dist-info/METADATA"]
    assert after == b"Metadata-Version: 2.4\nName: demo-jit\nVersion: 1.0\nAuthor: Sch\xf6n\n\n\xff\n"


@RENAMED
def test_folders_and_embedded_metadata_follow_and_the_wheel_is_valid(tmp_path, rename):
    wheel = demo(tmp_path, FILES | {f"demo_jit-{VERSION}.data/scripts/demo": b"#!python\n"})
    made = rename(wheel, tmp_path / "made")
    assert {name.split("/")[0] for name in contents(made)} == {
        "demo_jit",
        "demo_jit-1.0.data",
        "demo_jit-1.0.dist-info",
    }
    assert json.loads(contents(made)["demo_jit-1.0.dist-info/fatwheel.json"])["version"] == "1.0"
    plain = made.rename(made.with_name(f"demo_jit-1.0-{TAGS}.whl"))
    assert [finding.what for finding in verify(plain).errors] == []


@RENAMED
def test_a_wheel_that_differs_from_its_record_is_refused(tmp_path, rename):
    wheel = rezip(demo(tmp_path, FILES), lambda held: held.update({"demo_jit/__init__.py": bytes(32)}))
    with pytest.raises(VerificationError, match="do not match the digest in RECORD"):
        rename(wheel, tmp_path / "made")
    assert list(tmp_path.glob("made/*")) == []


@RENAMED
def test_two_runs_give_the_same_bytes(tmp_path, rename):
    wheel = demo(tmp_path, FILES)
    repack(wheel, wheel.parent, Changes(sbom=True))
    assert rename(wheel, tmp_path / "a").read_bytes() == rename(wheel, tmp_path / "b").read_bytes()


def test_rewritten_scripts_stay_executable(tmp_path):
    tool = "demo_jit/tool.py"
    wheel = changed(demo(tmp_path, FILES | {tool: b'version = "1"\n'}), {}, executable=[tool])
    part = PartSpec("cell", NAME, stamp(commit="abc"), lambda _, read: {tool: read(tool) + b"# more\n"})
    (done,) = split(wheel, [part], tmp_path / "split")
    embedded = embed_metadata(wheel, tmp_path / "embedded", stamp(), replaced={tool: b"# other\n"})
    for made in (tmp_path / "split" / done.wheel, embedded):
        with zipfile.ZipFile(made) as archive:
            assert archive.getinfo(tool).external_attr >> 16 == 0o100755


def test_embedding_other_metadata_updates_the_bill_of_materials(tmp_path):
    wheel = demo(tmp_path, FILES)
    repack(wheel, wheel.parent, Changes(sbom=True))
    made = embed_metadata(wheel, tmp_path / "made", stamp(commit="0123abc"))
    properties = json.loads(contents(made)[f"{INFO}/{BILL}"])["metadata"]["component"]["properties"]
    assert {"name": "fatwheel:commit", "value": "0123abc"} in properties
    assert verify(made).findings == []


def test_a_replaced_file_that_fatwheel_writes_itself_is_written_once(tmp_path):
    texts = {f"{INFO}/{file}": b"{}" for file in ("fatwheel.json", "RECORD")}
    made = embed_metadata(demo(tmp_path, FILES), tmp_path / "made", stamp(commit="abc"), replaced=texts)
    assert contents(made)[f"{INFO}/fatwheel.json"] == stamp(commit="abc").to_json().encode()
    assert verify(made).findings == []


def test_a_variant_keeps_its_build_number(tmp_path):
    wheel = demo(tmp_path, FILES)
    wheel = wheel.rename(wheel.with_name(wheel.name.replace(f"-{VERSION}-", f"-{VERSION}-7-")))
    assert to_variant(wheel, tmp_path / "made").name == f"demo_jit-1.0-7-{TAGS}-cu130_sm12x.whl"


def test_files_that_still_name_the_old_version_are_reported(tmp_path):
    extra = f"{INFO}/sboms/auditwheel.cdx.json"
    wheel = demo(
        tmp_path, FILES, metadata={"Summary": "x", "Provides-Extra": ["all"],
                                   "Requires-Dist": [f"demo-jit=={VERSION} ; extra == 'all'"]},
    )  # fmt: skip
    wheel = changed(wheel, {extra: f'{{"version": "{VERSION}"}}'.encode()})
    done = repack(wheel, tmp_path / "made", Changes(version="2.0"))
    assert done.outdated_texts == sorted([f"{INFO}/METADATA", extra, "demo_jit/__init__.py"])
    held = contents(tmp_path / "made" / done.wheel)
    assert held["demo_jit-2.0.dist-info/sboms/auditwheel.cdx.json"] == f'{{"version": "{VERSION}"}}'.encode()


def test_other_tags_replace_those_of_a_wheel_file_with_windows_line_endings(tmp_path):
    before = b"Wheel-Version: 1.0\r\nGenerator: x\x0b\r\nRoot-Is-Purelib: false\r\nTag: py3-none-linux_x86_64\r\n\r\n"
    wheel = changed(demo(tmp_path, FILES, tags="py3-none-linux_x86_64"), {f"{INFO}/WHEEL": before})
    done = repack(wheel, tmp_path / "made", Changes(platform="manylinux_2_28_x86_64"))
    after = contents(tmp_path / "made" / done.wheel)[f"{INFO}/WHEEL"]
    assert after == before.replace(b"linux_x86_64", b"manylinux_2_28_x86_64")


@pytest.mark.parametrize("text", [b"not JSON", b"{}", b'{"generator": "another tool"}', b"\xff"])
def test_invalid_embedded_metadata(tmp_path, text):
    wheel = changed(demo(tmp_path, FILES), {f"{INFO}/fatwheel.json": text})
    with Archive.open(wheel) as archive:
        assert read_embedded(archive, invalid="ignore") is None
        with pytest.raises(VerificationError, match=r"invalid fatwheel\.json: ") as refused:
            read_embedded(archive, invalid="raise")
    assert refused.value.where == wheel.name
    with pytest.raises(VerificationError, match=r"invalid fatwheel\.json: "):
        to_variant(wheel, tmp_path / "variant")
    assert contents(to_version(wheel, tmp_path / "made"))["demo_jit-1.0.dist-info/fatwheel.json"] == text
    replaced = contents(to_part(wheel, tmp_path / "part"))["demo_jit-1.0.dist-info/fatwheel.json"]
    assert replaced == stamp(version="1.0").to_json().encode()


def test_a_wheel_without_embedded_metadata(tmp_path):
    def without(members):
        del members[f"{INFO}/fatwheel.json"]

    wheel = changed(rezip(demo(tmp_path, FILES), without), {})
    with Archive.open(wheel) as archive:
        assert read_embedded(archive, invalid="raise") is None
    with pytest.raises(UsageError, match=r"the wheel has no fatwheel\.json"):
        to_variant(wheel, tmp_path / "made")
    assert read_headers(contents(to_version(wheel, tmp_path / "made"))["demo_jit-1.0.dist-info/METADATA"])["Version"]


def test_a_part_with_another_distribution_is_renamed_throughout(tmp_path):
    wheel = demo(tmp_path, FILES)
    repack(wheel, wheel.parent, Changes(sbom=True))
    embedded = stamp(distribution="Demo.JIT-sm120f", version="1.0")
    (done,) = split(wheel, [PartSpec("cell", f"demo_jit_sm120f-1.0-{TAGS}.whl", embedded)], tmp_path / "parts")
    made = tmp_path / "parts" / done.wheel
    assert verify(made).findings == []
    headers = read_headers(contents(made)["demo_jit_sm120f-1.0.dist-info/METADATA"])
    assert (headers["Name"], headers["Version"]) == ("Demo.JIT-sm120f", "1.0")
    bill = json.loads(contents(made)[f"demo_jit_sm120f-1.0.dist-info/{BILL}"])
    assert bill["metadata"]["component"]["name"] == "Demo.JIT-sm120f"
    assert bill["metadata"]["component"]["purl"].startswith("pkg:pypi/demo-jit-sm120f@1.0?")
