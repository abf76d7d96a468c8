import random
import zlib

import pytest

from fatwheel.errors import UsageError
from fatwheel.wheels.io import compression
from fatwheel.wheels.io.byte_sources import Malformed

DATA = random.Random(1).randbytes(50_000) + bytes(200_000) + b"abc" * 30_000


@pytest.fixture(params=["libdeflate", "zlib"])
def tool(request, monkeypatch):
    if request.param == "zlib":
        monkeypatch.setattr(compression, "libdeflate", None)
    elif compression.libdeflate is None:
        pytest.skip("libdeflate is not installed")
    return request.param


@pytest.mark.parametrize("level", [1, 6, 12])
@pytest.mark.usefixtures("tool")
def test_compressed_data_is_restored(level):
    for data in (DATA, b"", b"x"):
        packed = compression.compress(data, level)
        assert compression.decompress(packed, len(data)) == data
        assert zlib.decompress(packed, -15) == data


@pytest.mark.usefixtures("tool")
def test_a_wrong_size_or_a_broken_stream_is_an_error():
    packed = bytes(compression.compress(DATA, 6))
    for data, size in (
        (packed, len(DATA) - 1),
        (packed, len(DATA) + 1),
        (packed, 0),
        (packed[:-9], len(DATA)),
        (b"\xff" * 9, 9),
    ):
        with pytest.raises(Malformed):
            compression.decompress(data, size)


@pytest.mark.usefixtures("tool")
def test_the_checksum_is_crc32_and_can_be_continued():
    assert compression.checksum(DATA[9:], compression.checksum(DATA[:9])) == zlib.crc32(DATA)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_pieces_make_one_stream_whatever_the_number_of_threads(workers, monkeypatch):
    monkeypatch.setattr(compression, "count_workers", lambda: workers)
    pieces = [DATA[at : at + 70_000] for at in range(0, len(DATA), 70_000)]
    packed = b"".join(compression.compress_pieces(pieces, 6))
    assert b"".join(compression.decompress_pieces([packed])) == DATA
    monkeypatch.setattr(compression, "count_workers", lambda: 1)
    assert packed == b"".join(compression.compress_pieces(pieces, 6))


def test_pieces_are_about_as_small_as_one_stream():
    pieces = [DATA[at : at + 70_000] for at in range(0, len(DATA), 70_000)]
    assert len(b"".join(compression.compress_pieces(pieces, 6))) < 1.01 * len(zlib.compress(DATA, 6)) + 100


def test_a_truncated_stream_in_pieces_is_an_error():
    packed = zlib.compress(DATA, 6)[2:]
    for data in (packed[: len(packed) // 2], b"", b"\xff\xff"):
        with pytest.raises(Malformed):
            list(compression.decompress_pieces([data]))


def test_invalid_levels_are_rejected():
    for level in (-1, 13):
        with pytest.raises(UsageError, match="level"):
            compression.check_level(level)
