"""What is missing: against a plan where there is one, else against the rest of a version and the version before."""

import pytest

from fatwheel.index.missing import find_missing
from fatwheel.records.index import IndexedFile, Missing
from tests.unit.index.assets import Shelf


def wheel(label, arch, version="1.0", covers=("9.0",), tag="v1"):
    cuda, _, family = label.partition(".")
    file = f"demo-{version}+{label}-py3-none-manylinux_2_28_{arch}.whl"
    return IndexedFile(
        file=file, project="demo", version=f"{version}+{label}", nightly=False, page="x/", cuda=cuda or None,
        family=family or None, arch=arch, covers=list(covers), bytes=1, sha256="0" * 64, url="u", tag=tag,
    )  # fmt: skip


def said(*rows, plans=None, explained=()):
    return [str(one) for one in find_missing(rows, plans or {}, explained)]


def test_a_cpu_that_only_some_labels_and_families_of_a_version_have_is_missing_in_the_others():
    rows = [wheel("cu130.sm9x", "x86_64"), wheel("cu130.sm9x", "aarch64"), wheel("cu130.sm12x", "x86_64")]
    assert said(*rows, wheel("cu129.sm9x", "aarch64")) == [
        "demo 1.0: no x86_64 wheel for cu129 sm9x",
        "demo 1.0: no aarch64 wheel for cu130 sm12x",
    ]


def test_an_integrated_gpu_has_no_x86_64():
    assert (
        said(
            wheel("cu130.sm9x", "x86_64"),
            wheel("cu130.sm9x", "aarch64"),
            wheel("cu130.sm11x", "aarch64", covers=("11.0",)),
        )
        == []
    )


def test_a_cpu_that_the_version_before_had_is_missing_in_the_newest():
    old = [wheel("cu130.sm9x", arch) for arch in ("x86_64", "aarch64")]
    assert said(*old, wheel("cu130.sm9x", "x86_64", "1.1")) == ["demo 1.1: no aarch64 wheel for any GPU"]
    assert said(*old, wheel("cu130.sm9x", "x86_64", "1.1"), wheel("cu130.sm9x", "x86_64", "1.2")) == []


def test_where_a_plan_is_there_it_alone_counts():
    rows = [wheel("cu130.sm9x", "x86_64"), wheel("cu130.sm9x", "aarch64"), wheel("cu130.sm12x", "x86_64")]
    planned = [Missing(project="demo", version="1.0", cuda=None, family=None, arch=None, file=row.file) for row in rows]
    assert said(*rows, plans={"v1": planned}) == []
    assert said(*rows[:2], plans={"v1": planned}) == ["demo 1.0: no such wheel for any GPU"]
    assert said(*rows[:2], plans={"v1": planned}, explained=[rows[2].file]) == []


def test_it_is_in_the_report_in_the_data_and_on_the_page(tmp_path):
    shelf = Shelf(tmp_path)
    for family, arch in (("sm9x", "x86_64"), ("sm9x", "aarch64"), ("sm12x", "x86_64")):
        shelf.wheel(f"1.0+cu130.{family}", tags=f"cp39-abi3-manylinux_2_28_{arch}", stamped=False)
    report = shelf.index()
    assert [str(one) for one in report.missing] == ["demo-kernels 1.0: no aarch64 wheel for cu130 sm12x"]
    assert shelf.data().missing == report.missing
    assert "no aarch64 wheel for cu130 sm12x" in (shelf.out / "index.html").read_text()


@pytest.mark.parametrize("rows", [[], [wheel("cu130.sm9x", "x86_64")]])
def test_nothing_is_missing_where_there_is_nothing_to_compare_with(rows):
    assert said(*rows) == []
