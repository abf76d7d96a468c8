"""Wheel variants: made from ordinary wheels, listed by the index, and selected by released uv for a given GPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from fatwheel.__main__ import run
from fatwheel.errors import UsageError
from fatwheel.wheels.making.variants import make_variants
from fatwheel.wheels.verify import verify
from tests.integration.hosts import hosts
from tests.unit.index.assets import Shelf, make_wheel

pytestmark = pytest.mark.integration

FAMILIES = {"sm9x": ("8.0", "9.0"), "sm10x": ("10.0", "10.3"), "sm12x": ("12.0", "12.1")}


def ordinary(folder, tags="py3-none-any"):
    made = [make_wheel(folder, f"1.0+cu130.{family}", covers=covers, tags=tags) for family, covers in FAMILIES.items()]
    return [*made, make_wheel(folder, "1.0", covers=(), tags=tags)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("variants")
    return make_variants(ordinary(folder), folder / "out")


def test_names_end_in_the_label_and_one_file_describes_them(made):
    stem = "demo_kernels-1.0"
    labels = ["cu130_sm10x", "cu130_sm12x", "cu130_sm9x", "null"]
    assert [path.name for path in made] == [
        *(f"{stem}-py3-none-any-{label}.whl" for label in labels),
        f"{stem}-variants.json",
    ]
    told = json.loads(made[-1].read_text())
    assert told["variants"]["cu130_sm12x"] == {
        "nvidia": {"cuda_version_lower_bound": ["13.0"], "sm_arch": ["120_real", "121_real"]}
    }
    assert told["variants"]["null"] == {}


def test_a_variant_is_a_valid_wheel_of_the_public_version_with_the_same_code(made, tmp_path):
    plain = tmp_path / "demo_kernels-1.0-py3-none-any.whl"
    shutil.copy(made[1], plain)
    seen = verify(plain, None)
    assert [str(finding.what) for finding in seen.errors] == []
    with zipfile.ZipFile(made[1]) as archive:
        info = "demo_kernels-1.0.dist-info"
        assert b"\nVersion: 1.0\n" in archive.read(f"{info}/METADATA")
        assert list(json.loads(archive.read(f"{info}/variant.json"))["variants"]) == ["cu130_sm12x"]
        assert b"1.0+cu130.sm12x" in archive.read("demo_kernels/__init__.py")


def test_the_same_wheels_give_the_same_bytes(made, tmp_path):
    again = make_variants(ordinary(tmp_path), tmp_path / "out")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in made]


def test_a_label_with_different_gpus_per_cpu_gets_the_cpu(tmp_path):
    pair = [
        make_wheel(tmp_path, "1.0+cu130.sm10x", covers=covers, tags=f"py3-none-manylinux_2_28_{arch}")
        for arch, covers in (("x86_64", ("10.0",)), ("aarch64", ("10.0", "11.0")))
    ]
    labels = json.loads(make_variants(pair, tmp_path / "out")[-1].read_text())["variants"]
    assert sorted(labels) == ["cu130_sm10x_aarch64", "cu130_sm10x_x86_64"]


def test_a_wheel_without_embedded_metadata_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"the wheel has no fatwheel\.json"):
        make_variants([make_wheel(tmp_path, "1.0+cu130.sm9x", stamped=False)], tmp_path / "out")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    shelf = Shelf(tmp_path_factory.mktemp("site"))
    release = shelf.store / "v1"
    release.mkdir(parents=True)
    wheels = ordinary(shelf.root)
    assert run(["variants", *map(str, wheels), "-o", str(release)]) == 0
    for path in list(release.glob("*.whl")):
        with zipfile.ZipFile(path) as archive:
            text = archive.read("demo_kernels-1.0.dist-info/METADATA")
        path.with_name(f"{path.name}.metadata").write_bytes(text)
    shelf.out.mkdir()
    with hosts(shelf.out, shelf.store) as served:
        report = shelf.index(served.downloads)
        assert report.problems == []
        yield served, shelf


def test_the_index_lists_variants_separately(site):
    _, shelf = site
    held = shelf.data()
    assert (held.wheels, held.missing) == ([], [])
    assert {row.variant for row in held.variants} == {"cu130_sm9x", "cu130_sm10x", "cu130_sm12x", "null", ""}
    assert len(shelf.files("demo-kernels")) == 5


@pytest.mark.parametrize(
    ("gpu", "driver", "version"),
    [
        ("9.0", "13.0", "1.0+cu130.sm9x"),
        ("12.1", "13.0", "1.0+cu130.sm12x"),
        ("10.3", "13.0", "1.0+cu130.sm10x"),
        ("10.3", "12.9", "1.0"),
        ("7.0", "13.0", "1.0"),
    ],
)
def test_released_uv_selects_the_variant_for_the_gpu(site, tmp_path, gpu, driver, version):
    if shutil.which("uv") is None:
        pytest.skip("no uv here")
    served, _ = site
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    python = tmp_path / "env" / "bin" / "python"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}
    forced = {"NV_VARIANT_PROVIDER_FORCE_SM_ARCH": gpu, "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION": driver}
    command = ["uv", "pip", "install", "--no-cache", "--no-config", "--python", python, "--preview-features",
               "wheel-variants", "--index-url", served.pages, "demo-kernels==1.0"]  # fmt: skip
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=kept | forced)
    if "wheel-variants" in answer.stderr and "unknown" in answer.stderr.lower():
        pytest.skip("this uv has no preview of wheel variants")
    assert answer.returncode == 0, answer.stderr
    asked = [python, "-Ic", "import demo_kernels; print(demo_kernels.__version__)"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() == version
