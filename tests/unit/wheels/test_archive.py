import io
import struct
import zipfile

import pytest

from fatwheel.errors import UsageError, VerificationError
from fatwheel.wheels.io.byte_sources import BytesSource, FileSource, Malformed
from fatwheel.wheels.reading import archive as archives
from fatwheel.wheels.reading.archive import Archive


def zipped(members, *, method=zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return out.getvalue()


def opened(data: bytes) -> Archive:
    return Archive(BytesSource(data), "x.whl")


BODY = b"0123456789" * 1000


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_is_read_by_position_whole_or_in_pieces(method):
    found = opened(zipped({"a/b.bin": BODY}, method=method))
    member = found.by_name["a/b.bin"]
    assert found.read(member) == b"".join(found.chunks(member)) == BODY
    assert found.head(member, 7) == BODY[:7]
    with found.contents(member) as source:
        assert source.size == len(BODY)
        assert source.read(1234, 5) == BODY[1234:1239]


def test_a_member_too_large_for_memory_is_read_through_a_file(monkeypatch):
    monkeypatch.setattr(archives, "IN_MEMORY", 10)
    found = opened(zipped({"a": BODY}))
    with found.contents(found.by_name["a"]) as source:
        assert isinstance(source, FileSource)
        assert source.read(9_990, 10) == BODY[-10:]


def test_folders_are_not_listed_as_files():
    assert list(opened(zipped({"a/": b"", "a/b": b"x"})).by_name) == ["a/b"]


def test_the_dist_info_folder_is_found():
    assert opened(zipped({"a-1.dist-info/METADATA": b"", "a/x.dist-info": b""})).dist_info == "a-1.dist-info"
    with pytest.raises(Malformed, match="found 0"):
        _ = opened(zipped({"a/x": b""})).dist_info
    with pytest.raises(Malformed, match="found 2"):
        _ = opened(zipped({"a-1.dist-info/x": b"", "b-1.dist-info/x": b""})).dist_info


@pytest.mark.parametrize("data", [b"", b"PK", b"not a zip" * 100, zipped({"a": BODY})[:-4], zipped({"a": BODY})[40:]])
def test_an_invalid_zip_file_is_an_error_that_names_the_file(data):
    with pytest.raises(VerificationError, match=r"x\.whl"):
        opened(data)


def test_a_missing_file_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        Archive.open(tmp_path / "x.whl")
    with pytest.raises(UsageError, match="directory"):
        Archive.open(tmp_path)


def corrupted(find: bytes, put: bytes, *, last=False, members=None, method=zipfile.ZIP_DEFLATED) -> bytes:
    data = zipped(members or {"member.bin": BODY}, method=method)
    at = data.rfind(find) if last else data.find(find)
    return data[:at] + put + data[at + len(put) :]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (corrupted(b"member.bin", b"nember.bin"), r"differ \(name"),
        (corrupted(b"PK\3\4", b"PK\3\5"), "local header not found"),
        (corrupted(BODY[:20], b"x", method=zipfile.ZIP_STORED), "checksum"),
        (zipped({"member.bin": BODY}, method=zipfile.ZIP_BZIP2), "compression method 12"),
    ],
)
def test_a_header_that_differs_from_the_directory_is_an_error(data, what):
    found = opened(data)
    with pytest.raises(Malformed, match=what):
        found.read(found.by_name["member.bin"])


def test_a_wrong_declared_size_is_an_error_with_every_way_of_reading():
    real = struct.pack("<I", len(BODY))
    for claimed in (len(BODY) - 1, len(BODY) + 1, 0):
        data = zipped({"member.bin": BODY}).replace(real, struct.pack("<I", claimed))
        found = opened(data)
        member = found.by_name["member.bin"]
        with pytest.raises(Malformed):
            found.read(member)
        with pytest.raises(Malformed), found.contents(member):
            pass


def test_members_that_share_bytes_are_an_error():
    data = bytearray(zipped({"one": BODY, "two": BODY[::-1]}))
    directory = data.find(b"PK\1\2")
    second = data.find(b"PK\1\2", directory + 4)
    data[second + 42 : second + 46] = data[directory + 42 : directory + 46]
    with pytest.raises(Malformed, match="overlap"):
        opened(bytes(data))


def test_a_zip_bomb_is_not_unpacked():
    found = opened(zipped({"bomb": bytes(80 << 20)}))
    (member,) = found.members
    for read in (
        lambda: found.read(member, limit=1 << 30),
        lambda: list(found.chunks(member)),
        lambda: found.head(member, 4),
    ):
        with pytest.raises(Malformed, match="unpack to"):
            read()


def test_many_small_bombs_are_found_by_their_total(monkeypatch):
    data = zipped({str(n): bytes(1 << 20) for n in range(9)})
    assert len(opened(data).members) == 9
    monkeypatch.setattr(archives, "BOMB_TOTAL", 8 << 20)
    with pytest.raises(Malformed, match="unpack to"):
        opened(data)


def test_a_small_member_is_not_read_beyond_its_limit():
    found = opened(zipped({"a": BODY}))
    with pytest.raises(Malformed, match="at most 100"):
        found.read(found.by_name["a"], limit=100)


def test_an_archive_with_data_before_it_is_read():
    found = opened(b"#!/bin/sh\n" + zipped({"a": BODY}))
    assert found.read(found.by_name["a"]) == BODY
