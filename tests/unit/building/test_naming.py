"""A wheel that a project's build left gets its cell's name, or an error says in what it is another wheel."""

import zipfile

import pytest

from fatwheel.building.naming import rename_for_cell
from fatwheel.errors import BuildError
from fatwheel.wheels.verify import verify
from tests.unit.building.samples import cell
from tests.unit.wheels.synthetic import demo, library, stamp

WHEEL = "demo_kernels-1.0+cu130.sm9x-py3-none-manylinux_2_28_x86_64.whl"


def left(folder, *, version="1.0", tags="py3-none-linux_x86_64", name="demo-kernels"):
    """What a build command left."""
    files = {"demo_kernels/k.so": library("80", "90a"), "demo_kernels/__init__.py": b""}
    said = stamp(distribution=name, version=version, targets=["8.0", "9.0a"], family="sm9x")
    return demo(folder, files, tags=tags, version=version, distribution=name, stamped=said)


@pytest.mark.parametrize(
    ("version", "platform"),
    [
        ("1.0", "linux_x86_64"),
        ("1.0", "any"),
        ("1.0", "manylinux_2_28_x86_64"),
        ("1.0+cu130.sm9x", "linux_x86_64"),
        ("1.0", "manylinux_2_27_x86_64.manylinux_2_28_x86_64"),
        ("1.0+CU130_sm9x", "manylinux_2_28_x86_64"),
    ],
)
def test_label_and_platform_are_put_into_the_name_and_all_that_repeats_it(tmp_path, version, platform):
    wheel = left(tmp_path, version=version, tags=f"py3-none-{platform}")
    made = rename_for_cell(wheel, tmp_path / "named", cell())
    assert made.name == WHEEL
    assert [finding.kind for finding in verify(made).errors] == []
    with zipfile.ZipFile(made) as archive:
        text = archive.read("demo_kernels-1.0+cu130.sm9x.dist-info/WHEEL").decode()
    assert "Tag: py3-none-manylinux_2_28_x86_64\n" in text
    assert "Root-Is-Purelib: false\n" in text


def test_a_wheel_that_has_its_name_is_taken_as_it_is(tmp_path):
    wheel = left(tmp_path, version="1.0+cu130.sm9x", tags="py3-none-manylinux_2_28_x86_64")
    assert rename_for_cell(wheel, tmp_path / "named", cell()) == wheel


def test_everything_in_which_it_is_another_wheel_is_said_with_its_remedy(tmp_path):
    wheel = left(tmp_path, version="1.1", tags="cp311-cp311-manylinux_2_35_x86_64", name="kernels")
    with pytest.raises(BuildError) as told:
        rename_for_cell(wheel, tmp_path / "named", cell())
    said = str(told.value)
    for part in (
        "distribution kernels, not demo-kernels: make",
        "version 1.1, but `version` is 1.0",
        "Python and ABI tag cp311-cp311, but `tag` is py3-none: declare `tag: cp311-cp311`",
        "platform tag manylinux_2_35_x86_64, but `manylinux` means manylinux_2_28_x86_64",
    ):
        assert part in said
    assert not (tmp_path / "named").exists()


@pytest.mark.parametrize(
    ("version", "tags", "told"),
    [
        ("1.0+cu129", "py3-none-linux_x86_64", "local version cu129, not cu130.sm9x"),
        ("1.0", "py3-none-linux_aarch64", "platform tag linux_aarch64"),
        ("1.0", "py3-none-manylinux_2_28_x86_64.manylinux_2_28_aarch64", "platform tag manylinux_2_28_aarch64"),
        ("1.0", "py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64", "platform tag manylinux2014_x86_64"),
        ("1.0", "py3-none-musllinux_1_2_x86_64", "platform tag musllinux_1_2_x86_64"),
        (
            "1.0",
            "py2.py3-none-linux_x86_64",
            "Python and ABI tag py2.py3-none, but `tag` is py3-none: declare `tag: py2.py3-none`",
        ),
    ],
)
def test_a_label_or_platform_of_something_else_is_not_overwritten(tmp_path, version, tags, told):
    with pytest.raises(BuildError) as refused:
        rename_for_cell(left(tmp_path, version=version, tags=tags), tmp_path / "named", cell())
    assert told in str(refused.value)


def test_an_older_name_of_the_platform_is_the_same_platform(tmp_path):
    wheel = left(tmp_path, tags="py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64")
    wanted = cell().model_copy(update={"wheel": WHEEL.replace("2_28", "2_17")})
    made = rename_for_cell(wheel, tmp_path / "named", wanted)
    assert made.name == wanted.wheel
    assert [finding.kind for finding in verify(made).errors] == []


def test_a_build_number_is_not_lost(tmp_path):
    wheel = left(tmp_path)
    wheel = wheel.rename(wheel.with_name(wheel.name.replace("-1.0-", "-1.0-7a-")))
    with pytest.raises(BuildError, match="build number 7a, not none"):
        rename_for_cell(wheel, tmp_path / "named", cell())


def test_a_file_that_is_named_like_no_wheel(tmp_path):
    wheel = left(tmp_path)
    odd = wheel.rename(wheel.with_name("kernels.whl"))
    with pytest.raises(BuildError, match="invalid wheel file name"):
        rename_for_cell(odd, tmp_path / "named", cell())
