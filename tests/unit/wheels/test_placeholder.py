import hashlib
import zipfile
import zlib

import pytest

from fatwheel.errors import UsageError
from fatwheel.wheels.making.placeholder import crc_of_zeros, sha256_of_zeros, write_placeholder
from fatwheel.wheels.verify import verify
from tests.unit.wheels.synthetic import TAGS, VERSION, stamp

NAME = f"demo_jit-{VERSION}-{TAGS}.whl"


@pytest.mark.parametrize("count", [0, 1, 2, 7, 1000, 65_537, (64 << 20) + 3])
def test_digests_of_zeros_are_correct(count):
    assert crc_of_zeros(count) == zlib.crc32(bytes(count))
    assert sha256_of_zeros(count) == hashlib.sha256(bytes(count)).digest()


def test_it_has_the_exact_size(tmp_path):
    for size in (*range(2500, 2600), *range(3250, 3400), *range(12_300, 12_400), *range(102_200, 102_300), 10**6):
        assert write_placeholder(tmp_path, NAME, embedded=stamp(), size=size).stat().st_size == size


@pytest.mark.parametrize("size", [3000, 10**7])
@pytest.mark.parametrize("import_name", [None, "demo_jit"])
def test_it_is_valid_and_marked_as_a_placeholder(tmp_path, size, import_name):
    found = verify(write_placeholder(tmp_path, NAME, embedded=stamp(), size=size, import_name=import_name))
    assert found.findings == []
    assert found.placeholder


def test_it_can_be_imported_with_its_name_and_version(tmp_path):
    with zipfile.ZipFile(
        write_placeholder(tmp_path, NAME, embedded=stamp(), size=5000, import_name="demo_jit")
    ) as archive:
        assert archive.read("demo_jit/__init__.py") == f'__version__ = "{VERSION}"\n'.encode()


def test_it_takes_almost_no_disk_space(tmp_path):
    size = 2 << 30
    wheel = write_placeholder(tmp_path, NAME, embedded=stamp(), size=size)
    assert wheel.stat().st_size == size
    if wheel.stat().st_blocks * 512 > size // 2:
        pytest.skip("this file system does not keep sparse files")
    assert wheel.stat().st_blocks * 512 < 1 << 20


@pytest.mark.parametrize("size", [2**32 - 1, 2**32, 2**32 + 1000])
def test_more_than_4_gib_can_be_read(tmp_path, size):
    wheel = write_placeholder(tmp_path, NAME, embedded=stamp(), size=size, import_name="demo_jit")
    assert wheel.stat().st_size == size
    with zipfile.ZipFile(wheel) as archive:
        (zeros,) = [info for info in archive.infolist() if info.filename.endswith(".bin")]
        assert crc_of_zeros(zeros.file_size) == zeros.CRC
        assert archive.read("demo_jit/__init__.py").startswith(b"__version__")
        record = archive.read(f"demo_jit-{VERSION}.dist-info/RECORD").decode()
    assert f",{zeros.file_size}\n" in record


def test_too_small_a_size_is_rejected_with_the_minimum(tmp_path):
    with pytest.raises(UsageError, match=r"at least (\d+) bytes") as error:
        write_placeholder(tmp_path, NAME, embedded=stamp(), size=700)
    least = int(str(error.value).split("at least ")[1].split()[0])
    assert write_placeholder(tmp_path, NAME, embedded=stamp(), size=least).stat().st_size == least
    with pytest.raises(UsageError):
        write_placeholder(tmp_path, NAME, embedded=stamp(), size=least - 1)


def test_an_invalid_wheel_name_is_rejected(tmp_path):
    with pytest.raises(UsageError, match="invalid wheel file name"):
        write_placeholder(tmp_path, "demo.zip", embedded=stamp(), size=5000)
