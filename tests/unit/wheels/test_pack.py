import hashlib
import os
import stat
import zipfile
from email.parser import Parser

import pytest

from fatwheel.errors import UsageError, VerificationError
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.wheels.io import compression
from fatwheel.wheels.making import writer
from fatwheel.wheels.making.pack import embed_metadata, pack
from fatwheel.wheels.verify import verify
from tests.unit.wheels.synthetic import TAGS, VERSION, demo, library, rezip, stamp


def digest(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def names(path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def read(path, name) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(name)


def metadata(path):
    return Parser().parsestr(read(path, f"demo_jit-{VERSION}.dist-info/METADATA").decode())


def test_the_file_name_is_normalized_and_has_the_local_version(tmp_path):
    wheel = demo(tmp_path, distribution="Demo.JIT", version="1.0+CU130-sm12x")
    assert wheel.name == f"demo_jit-{VERSION}-{TAGS}.whl"


def test_a_packed_wheel_is_valid(tmp_path):
    found = verify(demo(tmp_path))
    assert found.findings == []
    assert found.valid


def test_members_are_sorted_and_dist_info_comes_last_with_record_at_the_end(tmp_path):
    files = {"zz.py": b"", "demo_jit/b.py": b"", "demo_jit/a/c.py": b"", "Demo.py": b""}
    info = f"demo_jit-{VERSION}.dist-info"
    assert names(demo(tmp_path, files)) == [
        "Demo.py", "demo_jit/a/c.py", "demo_jit/b.py", "zz.py",
        f"{info}/METADATA", f"{info}/WHEEL", f"{info}/fatwheel.json", f"{info}/RECORD",
    ]  # fmt: skip


def test_equal_trees_give_equal_bytes(tmp_path):
    first = demo(tmp_path / "a")
    os.utime(tmp_path / "a/tree/demo_jit/k.so", (1, 1))
    second = demo(tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()


def test_the_number_of_threads_does_not_change_the_bytes(tmp_path, monkeypatch):
    files = {f"demo_jit/{n}.bin": os.urandom(999) + bytes(9999) for n in range(40)}
    first = demo(tmp_path / "a", files)
    monkeypatch.setattr(compression, "count_workers", lambda: 1)
    assert first.read_bytes() == demo(tmp_path / "b", files).read_bytes()


@pytest.mark.parametrize(
    ("epoch", "date"),
    [
        (None, (1980, 1, 1, 0, 0, 0)),
        ("0", (1980, 1, 1, 0, 0, 0)),
        ("1764547201", (2025, 12, 1, 0, 0, 0)),
        ("99999999999", (2107, 12, 31, 23, 59, 58)),
    ],
)
def test_the_date_is_source_date_epoch(tmp_path, monkeypatch, epoch, date):
    if epoch is None:
        monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    else:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    with zipfile.ZipFile(demo(tmp_path)) as archive:
        assert {info.date_time for info in archive.infolist()} == {date}


@pytest.mark.parametrize("epoch", ["yesterday", "-1", "1e9", "9" * 5000])
def test_an_invalid_source_date_is_rejected(tmp_path, monkeypatch, epoch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    with pytest.raises(UsageError, match=f"invalid SOURCE_DATE_EPOCH '{epoch}'"):
        demo(tmp_path)


def test_only_the_executable_bit_of_modes_is_kept(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "run").write_bytes(b"#!/bin/sh\n")
    (tree / "run").chmod(0o700)
    (tree / "data").write_bytes(b"")
    (tree / "data").chmod(0o600)
    wheel = pack(tree, tmp_path, distribution="demo-jit", version=VERSION, tags=TAGS)
    with zipfile.ZipFile(wheel) as archive:
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
    assert modes["run"] == stat.S_IFREG | 0o755
    assert modes["data"] == stat.S_IFREG | 0o644


def test_incompressible_data_is_stored(tmp_path):
    noise = os.urandom(5000)
    with zipfile.ZipFile(demo(tmp_path, {"noise": noise, "zeros": bytes(5000)})) as archive:
        assert archive.getinfo("noise").compress_type == zipfile.ZIP_STORED
        assert archive.getinfo("zeros").compress_type == zipfile.ZIP_DEFLATED
        assert archive.read("noise") == noise


def test_level_0_stores_and_level_12_is_smallest(tmp_path):
    sizes = [
        demo(tmp_path / str(n), {"demo_jit/k.so": library("120f") * 50}, level=n).stat().st_size for n in (0, 1, 12)
    ]
    assert sizes[0] > sizes[1] >= sizes[2]


def test_a_large_member_is_streamed_and_restored(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "LARGE", 1000)
    files = {
        "demo_jit/big.bin": os.urandom(7 << 20) + bytes(3 << 20),
        "demo_jit/empty": b"",
        "demo_jit/k.so": library("120f"),
    }
    for level in (0, 6):
        wheel = demo(tmp_path / str(level), files, level=level)
        assert {name: read(wheel, name) for name in files} == files
        assert verify(wheel).findings == []


def test_metadata_contains_the_given_fields_and_the_license(tmp_path):
    licence = tmp_path / "LICENSE"
    licence.write_text("Do as you like.\n")
    wheel = demo(
        tmp_path,
        metadata={
            "summary": "Kernels, ready made", "requires_python": ">=3.9",
            "Requires-Dist": ["numpy>=1", "torch; extra == 'torch'"],
            "provides_extra": ["torch"], "license-expression": "Apache-2.0", "description": "Line one\nLine two\n",
        },
        licenses=[licence],
    )  # fmt: skip
    headers = metadata(wheel)
    assert headers["Metadata-Version"] == "2.4"
    assert (headers["Name"], headers["Version"]) == ("demo-jit", VERSION)
    assert headers["Summary"] == "Kernels, ready made"
    assert headers.get_all("Requires-Dist") == ["numpy>=1", "torch; extra == 'torch'"]
    assert headers["License-File"] == "LICENSE"
    assert headers.get_payload() == "Line one\nLine two\n"
    assert read(wheel, f"demo_jit-{VERSION}.dist-info/licenses/LICENSE") == b"Do as you like.\n"
    assert verify(wheel).findings == []


def test_the_embedded_metadata_is_in_the_wheel(tmp_path):
    wheel = demo(tmp_path)
    assert EmbeddedMetadata.model_validate_json(read(wheel, f"demo_jit-{VERSION}.dist-info/fatwheel.json")) == stamp()


@pytest.mark.parametrize(("tags", "pure"), [(TAGS, "false"), ("py3-none-any", "true"), ("py2.py3-none-any", "true")])
def test_the_wheel_file_has_the_tags_and_purity(tmp_path, tags, pure):
    wheel = demo(tmp_path, {"demo_jit/__init__.py": b""}, tags=tags, stamped=stamp(targets=[], arch=None))
    headers = Parser().parsestr(read(wheel, f"demo_jit-{VERSION}.dist-info/WHEEL").decode())
    assert headers["Root-Is-Purelib"] == pure
    assert len(headers.get_all("Tag")) == (2 if tags.startswith("py2") else 1)
    assert verify(wheel).findings == []


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"sumary": "x"}, "sumary \\(unknown field"),
        ({"version": "2"}, "version \\(written by fatwheel"),
        ({"summary": ["a", "b"]}, "one value"),
        ({"summary": "a\nRequires-Dist: evil"}, "line break"),
        ({"requires_dist": ["not a requirement!"]}, "requires"),
        ({"requires_python": "three"}, "three"),
        ({"sumary": "x", "versio": "y"}, "sumary.*versio"),
    ],
)
def test_invalid_metadata_is_rejected_with_every_reason(tmp_path, fields, what):
    with pytest.raises(UsageError, match=what):
        demo(tmp_path, metadata=fields)
    assert not list(tmp_path.glob("out/*"))


def test_all_files_that_a_wheel_cannot_contain_are_reported(tmp_path):
    tree = tmp_path / "tree"
    (tree / "demo-1.dist-info").mkdir(parents=True)
    (tree / "demo-1.dist-info/METADATA").write_bytes(b"")
    (tree / "link").symlink_to("elsewhere")
    (tree / "folder").symlink_to(tmp_path)
    (tree / "back\\slash").write_bytes(b"")
    (tree / "line\nbreak").write_bytes(b"")
    os.mkfifo(tree / "pipe")
    with pytest.raises(UsageError) as error:
        pack(tree, tmp_path, distribution="demo", version="1", tags=TAGS)
    for named in ("dist-info", "'link'", "'folder'", "slash", "break", "'pipe' (not a regular file)"):
        assert named in str(error.value)


def test_byte_code_caches_are_excluded(tmp_path):
    assert "__pycache__" not in "".join(names(demo(tmp_path, {"a.py": b"", "__pycache__/a.cpython-311.pyc": b"x"})))


@pytest.mark.parametrize("tags", ["cp39-abi3", "", "cp39--linux_x86_64", "a-b-c-d"])
def test_invalid_tags_are_rejected(tmp_path, tags):
    with pytest.raises(UsageError):
        demo(tmp_path, tags=tags)


@pytest.mark.parametrize("changes", [{"distribution": "other"}, {"version": "1.0"}])
def test_embedded_metadata_of_another_wheel_is_rejected(tmp_path, changes):
    with pytest.raises(UsageError, match="the embedded metadata is for"):
        demo(tmp_path, stamped=stamp(**changes))


def test_an_empty_or_missing_tree_is_rejected(tmp_path):
    for tree in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError):
            pack(tree, tmp_path / "out", distribution="demo", version="1", tags=TAGS)


def test_no_partial_file_is_left(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer, "write_record", full)
    with pytest.raises(OSError, match="No space"):
        demo(tmp_path)
    assert not list(tmp_path.glob("out/*"))


def test_a_file_that_changes_while_it_is_packed_is_an_error(tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes(b"one line\n")
    item = writer.item_from_file("log.txt", path)
    path.write_bytes(b"one line\nanother\n")
    with pytest.raises(UsageError, match="changed while it was packed"):
        writer.write_wheel(tmp_path / "out/x.whl", [item], dist_info="x.dist-info", level=6)
    assert not list(tmp_path.glob("out/*"))


def test_license_files_with_equal_names_or_missing_ones_are_rejected(tmp_path):
    (tmp_path / "LICENSE").write_text("x")
    for licenses in ([tmp_path / "LICENSE", tmp_path / "sub/LICENSE"], [tmp_path / "COPYING"]):
        with pytest.raises(UsageError, match="license file"):
            demo(tmp_path, licenses=licenses)


class TestStamping:
    def foreign(self, tmp_path):
        """A wheel as from another tool: no embedded metadata, another order."""

        def change(members):
            for name in [*members]:
                if name.endswith("fatwheel.json"):
                    del members[name]

        return rezip(demo(tmp_path), change)

    def test_a_wheel_of_another_tool_gets_embedded_metadata_and_a_new_record(self, tmp_path):
        stamped = embed_metadata(self.foreign(tmp_path), tmp_path / "stamped", stamp())
        assert read(stamped, f"demo_jit-{VERSION}.dist-info/fatwheel.json") == stamp().to_json().encode()
        assert verify(stamped).findings == []

    def test_embedding_again_changes_only_the_embedded_metadata(self, tmp_path):
        first = embed_metadata(self.foreign(tmp_path), tmp_path / "a", stamp())
        second = embed_metadata(first, tmp_path / "b", stamp(commit="abc"))
        third = embed_metadata(second, tmp_path / "c", stamp())
        assert first.read_bytes() == third.read_bytes() != second.read_bytes()

    def test_it_can_replace_the_wheel(self, tmp_path):
        wheel = self.foreign(tmp_path)
        assert embed_metadata(wheel, wheel.parent, stamp()) == wheel
        assert verify(wheel).findings == []

    def test_a_signature_of_the_old_record_is_removed(self, tmp_path):
        signed = rezip(
            demo(tmp_path), lambda members: members.update({f"demo_jit-{VERSION}.dist-info/RECORD.jws": b"{}"})
        )
        assert not any(name.endswith(".jws") for name in names(embed_metadata(signed, tmp_path / "b", stamp())))

    def test_a_damaged_wheel_is_rejected_instead_of_hidden_by_a_new_record(self, tmp_path):
        wheel = demo(tmp_path)
        data = wheel.read_bytes()
        at = data.find(b"demo_jit/k.so") + 40
        wheel.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        before = digest(wheel)
        with pytest.raises(VerificationError, match=r"k\.so"):
            embed_metadata(wheel, wheel.parent, stamp())
        assert digest(wheel) == before
