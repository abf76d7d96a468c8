"""Real pip and uv behind GitHub's redirect: bytes of a dry run, shims with providers, one version for a whole set."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.hosts import hosts
from tests.unit.index.assets import Shelf

pytestmark = pytest.mark.integration

TARGETS = {"sm80": ("8.0", "8.6", "8.9"), "sm90a": ("9.0",), "sm120f": ("12.0", "12.1")}
FAMILIES = {"sm9x": ("8.0", "8.6", "8.9", "9.0"), "sm10x": ("10.0", "10.3"), "sm12x": ("12.0", "12.1")}


def plain(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "FATWHEEL_"))}
    return {**kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1", "UV_NO_CACHE": "1", **more}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A set of two packages in families, and one of providers before which shims stand."""
    made = Shelf(tmp_path_factory.mktemp("sets"))
    for version in ("1.0", "1.1", "1.2.dev20260508"):
        for family, covers in FAMILIES.items():
            made.wheel(f"{version}+cu130.{family}", f"v{version}", covers=covers, tags="py3-none-any", metadata=True)
        made.wheel(version, f"v{version}", project="twin", tags="py3-none-any", metadata=True)
    for name, end in (("some", " ; extra == '{}'"), ("every", "")):
        needs = [f"{name}-{target}==1.0+cu130{end.format(target)}" for target in TARGETS]
        made.wheel(
            "1.0+cu130", name, project=name, covers=(), tags="py3-none-any", requires=tuple(needs), metadata=True
        )
        for target, covers in TARGETS.items():
            made.wheel("1.0+cu130", name, project=f"{name}-{target}", covers=covers, tags="py3-none-any", metadata=True)
    made.wheel("1.0+cu130.sm9x", "big", project="big", tags="py3-none-any", metadata=True, blob=2_000_000)
    return made


@pytest.fixture(scope="module")
def site(shelf):
    shelf.out.mkdir()
    with hosts(shelf.out, shelf.store) as served:
        shelf.index(served.downloads)
        yield served


@pytest.fixture(scope="module")
def environments(tmp_path_factory):
    """One with pip inside and one without, by tool."""
    place = tmp_path_factory.mktemp("environments")
    for tool, options in (("pip", []), ("uv", ["--without-pip"])):
        subprocess.run([sys.executable, "-m", "venv", *options, place / tool], check=True)
    return place


@pytest.fixture(params=["pip", "uv"])
def python(request, environments):
    """An empty environment, with pip inside or with uv outside it."""
    if request.param == "uv" and shutil.which("uv") is None:
        pytest.skip("no uv here")
    yield environments / request.param / "bin" / "python"
    for place in environments.glob(f"{request.param}/lib/*/site-packages/*"):
        if not place.name.startswith(("pip", "setuptools", "_distutils", "distutils", "pkg_resources")):
            shutil.rmtree(place) if place.is_dir() else place.unlink()


def installer(shelf, site, python, *arguments, gpus="12.1"):
    command = [python, "-I", shelf.out / "install_wheel.py", "--index-url", site.pages, *map(str, arguments)]
    variables = plain(FATWHEEL_GPU=gpus, FATWHEEL_CUDA="13.0")
    return subprocess.run(command, capture_output=True, text=True, check=False, env=variables)


def versions(python):
    asked = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    answer = subprocess.run([python, "-Ic", asked], capture_output=True, text=True, check=True)
    return {name: version for name, version in json.loads(answer.stdout).items() if name not in {"pip", "setuptools"}}


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_a_dry_run_behind_a_redirect_takes_less_than_ten_kilobytes(site, tmp_path, tool):
    if tool == "uv" and shutil.which("uv") is None:
        pytest.skip("no uv here")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    pip = [sys.executable, "-m", "pip", "--python", tmp_path / "env", "install"]
    uv = ["uv", "pip", "install", "--no-config", "--python", tmp_path / "env"]
    command = [*(pip if tool == "pip" else uv), "--dry-run", "--index-url", f"{site.pages}cu130/sm9x/", "big"]
    site.sent.clear()
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=plain())
    assert answer.returncode == 0, answer.stderr
    assert site.of(".whl.metadata") > 0
    assert site.of(".whl") == 0
    assert 0 < site.total < 10_000


def test_only_the_providers_that_the_gpus_need_are_installed(shelf, site, python):
    answer = installer(shelf, site, python, "some", gpus="9.0,12.0")
    assert answer.returncode == 0, answer.stderr
    assert "installed some[sm120f,sm90a]==1.0+cu130" in answer.stdout or "some[sm90a,sm120f]" in answer.stdout
    assert versions(python) == dict.fromkeys(("some", "some-sm90a", "some-sm120f"), "1.0+cu130")
    assert installer(shelf, site, python, "some", "--check", gpus="12.1,9.0").returncode == 0
    wrong = installer(shelf, site, python, "some", "--check", gpus="8.6")
    assert wrong.returncode == 5
    assert "does not cover 8.6; it covers 9.0, 12.0, 12.1" in wrong.stderr


def test_a_shim_that_requires_every_provider_is_installed_with_all_of_them(shelf, site, python):
    answer = installer(shelf, site, python, "every", gpus="8.6")
    assert answer.returncode == 0, answer.stderr
    assert versions(python) == {"every": "1.0+cu130", **{f"every-{target}": "1.0+cu130" for target in TARGETS}}


def test_the_version_follows_what_is_installed_of_the_set(shelf, site, python):
    answer = installer(shelf, site, python, "twin==1.0")
    assert answer.returncode == 0, answer.stderr
    answer = installer(shelf, site, python, "demo-kernels")
    assert "using the version of the installed twin 1.0" in answer.stderr
    assert versions(python) == {"twin": "1.0", "demo-kernels": "1.0+cu130.sm12x"}
    refused = installer(shelf, site, python, "demo-kernels", "--nightly")
    assert refused.returncode == 2
    assert "installed release twin 1.0: packages released together must have the same version" in refused.stderr
    assert installer(shelf, site, python, "demo-kernels", "--upgrade").returncode == 0
    assert versions(python)["demo-kernels"] == "1.1+cu130.sm12x"


def test_a_source_checkout_tells_its_version_by_version_txt(shelf, site, python, tmp_path):
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "version.txt").write_text("1.0\n")
    where = subprocess.run(
        [python, "-Ic", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True,
        check=True,
    ).stdout.strip()  # fmt: skip
    info = Path(where) / "checkout-0.0.0+unknown.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: checkout\nVersion: 0.0.0+unknown\n")
    (info / "direct_url.json").write_text(json.dumps({"url": checkout.as_uri(), "dir_info": {"editable": True}}))
    answer = installer(shelf, site, python, "demo-kernels", "--match", "checkout", "--dry-run", "--json")
    assert json.loads(answer.stdout)["pin"] == "demo-kernels==1.0+cu130.sm12x", answer.stderr


def test_a_dry_run_prints_the_direct_url_and_the_form_without_dependencies(shelf, site, python):
    answer = installer(shelf, site, python, "demo-kernels==1.0", "--dry-run", gpus="10.3")
    lines = dict(line.split(": ", 1) for line in answer.stdout.splitlines())
    url = lines["direct URL"].strip()
    assert url.startswith(f"{site.downloads}/v1.0/demo_kernels-1.0%2Bcu130.sm10x-")
    assert lines["without dependencies"].endswith("--no-deps")
    assert lines["pin and index page"].split() == ["demo-kernels==1.0+cu130.sm10x", f"{site.pages}cu130/sm10x/"]
    assert versions(python) == {}


def test_it_comes_through_a_pipe_as_well(shelf, site, python):
    command = [python, "-I", "-", "demo-kernels", "--index-url", site.pages, "--dry-run"]
    script = (shelf.out / "install_wheel.py").read_text()
    variables = plain(FATWHEEL_GPU="9.0", FATWHEEL_CUDA="13.0")
    answer = subprocess.run(command, input=script, capture_output=True, text=True, check=False, env=variables)
    assert "demo-kernels==1.1+cu130.sm9x" in answer.stdout, answer.stderr


def test_uv_run_installs_into_the_environment_at_hand_and_not_into_its_own(site, tmp_path):
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("no uv here")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    variables = plain(FATWHEEL_GPU="9.0", FATWHEEL_CUDA="13.0")
    variables.pop("VIRTUAL_ENV", None)
    script = [f"{site.pages}install_wheel.py", "demo-kernels", "--index-url", site.pages]
    run = [uv, "run", "--no-config", *script]
    answer = subprocess.run(run, capture_output=True, text=True, check=False, env=variables, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert versions(tmp_path / ".venv" / "bin" / "python") == {"demo-kernels": "1.1+cu130.sm9x"}
