"""What a file's name says, and which pages list it."""

import pytest

from fatwheel.errors import VerificationError
from fatwheel.index.file_names import parse_file_name


def name(version, tags="cp39-abi3-manylinux_2_28_x86_64"):
    return f"demo_kernels-{version}-{tags}.whl"


@pytest.mark.parametrize(
    ("version", "pages"),
    [
        ("1.0+cu130.sm9x", ("cu130/demo-kernels/", "cu130/sm9x/demo-kernels/")),
        ("1.0+cu130", ("cu130/demo-kernels/",)),
        ("1.0+cu124torch2.4", ("cu124/demo-kernels/",)),
        ("1.0+cu1310.sm120f", ("cu1310/demo-kernels/", "cu1310/sm120f/demo-kernels/")),
        ("1.0", ("demo-kernels/",)),
        ("1.0+cpu", ("demo-kernels/",)),
        ("0.5.0rc1+cu130.sm9x", ("cu130/demo-kernels/", "cu130/sm9x/demo-kernels/")),
        ("1.2.3.post1+cu130", ("cu130/demo-kernels/",)),
        ("1!2.0+cu130", ("cu130/demo-kernels/",)),
        ("1.1.dev20260508+cu130.sm9x", ("nightly/cu130/demo-kernels/", "nightly/cu130/sm9x/demo-kernels/")),
        ("1.1.dev20260508", ("nightly/demo-kernels/",)),
        ("1.0rc1.dev3+g0abc.cu129", ("nightly/cu129/demo-kernels/",)),
    ],
)
def test_the_label_decides_the_pages(version, pages):
    assert parse_file_name(name(version)).pages == pages


@pytest.mark.parametrize(
    ("tags", "arch"),
    [
        ("cp39-abi3-manylinux_2_28_aarch64", "aarch64"),
        ("cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64", "x86_64"),
        ("py3-none-any", None),
        ("py3-none-manylinux_2_28_x86_64.manylinux_2_28_aarch64", None),
    ],
)
def test_the_platform_decides_the_architecture(tags, arch):
    assert parse_file_name(name("1.0", tags)).arch == arch


def test_an_sdist_belongs_to_the_root():
    assert parse_file_name("demo_kernels-1.0.tar.gz").pages == ("demo-kernels/",)


@pytest.mark.parametrize("file", ["SHA256SUMS", "manifest.json", "sources.tar.gz", f"{name('1.0')}.metadata", "x.zip"])
def test_other_files_are_passed_over(file):
    assert parse_file_name(file) is None


@pytest.mark.parametrize(
    "file",
    [
        "demo-1.0.cu130.sm9x-cp39-abi3-linux_x86_64.whl",
        "demo-1.0+cu130-sm9x-cp39-abi3-linux_x86_64.whl",
        "demo-latest-py3-none-any.whl",
        "demo-1.0-py3-none.whl",
        "demo.whl",
    ],
)
def test_a_name_that_pip_would_not_read_is_an_error(file):
    with pytest.raises(VerificationError, match="invalid wheel file name"):
        parse_file_name(file)


def test_a_lost_plus_sign_is_explained():
    with pytest.raises(VerificationError) as error:
        parse_file_name("demo-1.0.cu130.sm9x-cp39-abi3-linux_x86_64.whl")
    assert "the '+' of its version was lost" in error.value.help


@pytest.mark.parametrize("project", ["nightly", "cu130", "sm9x"])
def test_a_project_cannot_be_called_like_a_folder_of_the_index(project):
    with pytest.raises(VerificationError, match="is reserved for a folder of the index"):
        parse_file_name(f"{project}-1.0-py3-none-any.whl")


@pytest.mark.parametrize("ending", [".tar.gz", "-variants.json"])
def test_a_number_without_end_makes_no_name(ending):
    assert parse_file_name(f"demo-{'9' * 5000}{ending}") is None


def test_a_wheel_whose_version_has_no_end_is_refused():
    with pytest.raises(VerificationError):
        parse_file_name(name("9" * 5000))
