"""Real pip and uv, and the installer with either, on a real index: over loopback HTTP and from a folder."""

import json
import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.unit.index.assets import Shelf, make_wheel

pytestmark = pytest.mark.integration

FAMILIES = {"sm9x": ("8.0", "9.0"), "sm10x": ("10.0", "10.3"), "sm12x": ("12.0", "12.1")}


class _Handler(SimpleHTTPRequestHandler):
    """A static host for the index; release files answer with a redirect, as GitHub's do. Counts bytes of wheels."""

    def do_GET(self):
        path = urlsplit(self.path).path
        if path.startswith("/dl/"):
            self.send_response(302)
            self.send_header("Location", f"/store/{path.removeprefix('/dl/')}?signed=1")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.server.asked.append(unquote(path))
        super().do_GET()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    made = Shelf(tmp_path_factory.mktemp("shelf"))
    for family, covers in FAMILIES.items():
        for cuda in ("cu129", "cu130"):
            made.wheel(f"1.0+{cuda}.{family}", "v1", metadata=True, covers=covers, tags="py3-none-any")
        made.wheel(f"1.1.dev20260508+cu130.{family}", "nightly", metadata=True, covers=covers, tags="py3-none-any")
    made.wheel("0.9+cu130", "v0", stamped=False, tags="py3-none-any")
    made.wheel("1.1rc1+cu130.sm9x", "v1.1rc1", tags="py3-none-any")
    made.wheel("1.0.post1+cu128.sm9x", "v1.0.post1", tags="py3-none-any")
    made.wheel("2!1.0", "v2-1.0", project="pure.Helper", tags="py3-none-any", metadata=True)
    return made


@pytest.fixture(scope="module")
def site(shelf):
    """The served folder's URL: /index with links through /dl, which redirects to /store."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(shelf.root)))
    server.asked = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    shelf.index(f"{url}/dl")
    yield server, url
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def folder(shelf, tmp_path):
    """The same index with relative links, in a folder that is not served."""
    shelf.index(out=tmp_path / "index")
    return tmp_path / "index"


def environment(place, *, pip=False):
    options = [] if pip else ["--without-pip"]
    subprocess.run([sys.executable, "-m", "venv", *options, place], check=True)
    return place / "bin" / "python"


@pytest.fixture(params=["pip", "uv"])
def install(request, tmp_path):
    """Install into a new environment with one of the tools; the answer, and the version that is there then."""
    if request.param == "uv" and shutil.which("uv") is None:
        pytest.skip("no uv here")
    python = environment(tmp_path / "env")

    def call(*arguments):
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-cache-dir"]
        uv = ["uv", "pip", "install", "--python", python, "--no-cache", "--no-config"]
        command = [*(pip if request.param == "pip" else uv), *arguments]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, env=_variables())
        return answer, installed(python)

    return call


def _variables(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "FATWHEEL_"))}
    return kept | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"} | more


def installed(python, name="demo-kernels"):
    asked = f"import importlib.metadata as m; print(m.version({name!r}))"
    return subprocess.run([python, "-Ic", asked], capture_output=True, text=True, check=False).stdout.strip()


@pytest.mark.parametrize("page", ["cu130", "cu130/sm12x"])
def test_an_exact_pin_installs_that_wheel(install, site, page):
    answer, version = install("--index-url", f"{site[1]}/index/{page}/", "demo-kernels==1.0+cu130.sm12x")
    assert version == "1.0+cu130.sm12x", answer.stderr


def test_a_family_page_is_safe_for_a_plain_requirement(install, site):
    _, version = install("--index-url", f"{site[1]}/index/cu130/sm10x/", "demo-kernels")
    assert version == "1.0+cu130.sm10x"


def test_the_cuda_page_takes_the_highest_label_for_a_plain_requirement(install, site):
    """The trap that the installer is there for: whatever the GPU, sm9x sorts highest."""
    _, version = install("--index-url", f"{site[1]}/index/cu130/", "demo-kernels==1.0")
    assert version == "1.0+cu130.sm9x"


@pytest.mark.parametrize(
    ("page", "version"),
    [
        ("cu130", "0.9+cu130"),
        ("cu130", "1.1rc1+cu130.sm9x"),
        ("cu128", "1.0.post1+cu128.sm9x"),
        ("nightly/cu130/sm12x", "1.1.dev20260508+cu130.sm12x"),
    ],
)
def test_every_kind_of_version_is_found(install, site, page, version):
    assert install("--index-url", f"{site[1]}/index/{page}/", f"demo-kernels=={version}")[1] == version


def test_a_package_without_a_label_is_found_at_the_root_under_its_normal_name(install, site, tmp_path):
    answer, _ = install("--index-url", f"{site[1]}/index/", "pure.Helper")
    assert installed(tmp_path / "env" / "bin" / "python", "pure-helper") == "2!1.0", answer.stderr


@pytest.mark.parametrize("page", ["cu130", "cu130/sm12x"])
def test_a_folder_serves_as_an_index(install, folder, page):
    answer, version = install("--index-url", (folder / page).as_uri() + "/", "demo-kernels==1.0+cu130.sm12x")
    assert version == "1.0+cu130.sm12x", answer.stderr


def test_a_dry_run_reads_the_metadata_and_not_the_wheel(install, site):
    server, url = site
    server.asked.clear()
    answer, _ = install("--index-url", f"{url}/index/cu130/sm12x/", "--dry-run", "demo-kernels")
    assert answer.returncode == 0, answer.stderr
    assert [path for path in server.asked if path.endswith(".metadata")]
    assert not [path for path in server.asked if path.endswith(".whl")]


@pytest.mark.usefixtures("site")
def test_other_bytes_than_were_indexed_are_refused(install, shelf, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(shelf.out, copy)
    page = copy / "cu130" / "sm12x" / "demo-kernels" / "index.html"
    text = page.read_text()
    sha256 = text.partition("#sha256=")[2][:64]
    page.write_text(text.replace(f"#sha256={sha256}", f"#sha256={'0' * 64}"))
    answer, version = install("--index-url", (copy / "cu130" / "sm12x").as_uri() + "/", "demo-kernels")
    assert answer.returncode != 0
    assert version == ""


# --- the installer ----------------------------------------------------------------------------------------------------


def installer(script, python, *arguments, gpus="12.1", path=None, **env):
    more = {"FATWHEEL_GPU": gpus, "PIP_NO_CACHE_DIR": "1", "UV_NO_CACHE": "1", **env}
    if path is not None:
        more["PATH"] = path
    command = [python, "-I", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=_variables(**more))


@pytest.fixture(scope="module")
def with_pip(tmp_path_factory):
    return environment(tmp_path_factory.mktemp("with-pip") / "env", pip=True)


@pytest.mark.parametrize("gpus", ["9.0", "12.1", "10.3"])
def test_the_installer_takes_the_wheel_for_the_gpu_over_http(with_pip, shelf, site, gpus):
    arguments = ("demo-kernels==1.0", "--index-url", f"{site[1]}/index/", "--cuda-version", "13.0")
    answer = installer(shelf.out / "install_wheel.py", with_pip, *arguments, gpus=gpus)
    assert answer.returncode == 0, answer.stderr
    family = next(name for name, covers in FAMILIES.items() if gpus in covers)
    assert installed(with_pip) == f"1.0+cu130.{family}"
    assert f"installed demo-kernels==1.0+cu130.{family}" in answer.stdout


def test_the_installer_changes_the_family_of_what_is_installed_and_check_agrees(with_pip, shelf, site):
    script, url = shelf.out / "install_wheel.py", f"{site[1]}/index/"
    for gpus in ("9.0", "12.0"):
        arguments = ("demo-kernels==1.0", "--index-url", url, "--cuda-version", "cu130")
        assert installer(script, with_pip, *arguments, gpus=gpus).returncode == 0
        assert installer(script, with_pip, "demo-kernels", "--check", gpus=gpus).returncode == 0
    wrong = installer(script, with_pip, "demo-kernels", "--check", gpus="9.0")
    assert wrong.returncode == 5
    assert "does not cover 9.0; it covers 12.0, 12.1" in wrong.stderr
    assert (
        "no GPU found (checked FATWHEEL_GPU)" in installer(script, with_pip, "demo-kernels", "--check", gpus="").stderr
    )


def test_the_installer_works_from_a_folder(with_pip, folder):
    answer = installer(folder / "install_wheel.py", with_pip, "demo-kernels==1.0", "--cuda-version", "129", gpus="10.0")
    assert answer.returncode == 0, answer.stderr
    assert installed(with_pip) == "1.0+cu129.sm10x"


def test_the_installer_gives_a_nightly_when_asked(with_pip, shelf, site):
    arguments = ("demo-kernels", "--index-url", f"{site[1]}/index/", "--cuda-version", "cu130", "--nightly", "--json")
    answer = installer(shelf.out / "install_wheel.py", with_pip, *arguments)
    found = json.loads(answer.stdout)
    assert found["installed"] is True
    assert found["pin"] == "demo-kernels==1.1.dev20260508+cu130.sm12x"
    assert found["page"] == f"{site[1]}/index/nightly/cu130/sm12x/"


def test_a_label_given_whole_is_installed(with_pip, shelf, site):
    pin = "demo-kernels==1.0+cu129.sm9x"
    answer = installer(shelf.out / "install_wheel.py", with_pip, pin, "--index-url", f"{site[1]}/index/", gpus="")
    assert answer.returncode == 0, answer.stderr
    assert installed(with_pip) == "1.0+cu129.sm9x"


def test_the_installer_uses_uv_where_the_python_has_no_pip(shelf, site, tmp_path):
    if shutil.which("uv") is None:
        pytest.skip("no uv here")
    python = environment(tmp_path / "env")
    arguments = ("demo-kernels==1.0", "--index-url", f"{site[1]}/index/", "--cuda-version", "cu130")
    answer = installer(shelf.out / "install_wheel.py", python, *arguments)
    assert answer.returncode == 0, answer.stderr
    assert installed(python) == "1.0+cu130.sm12x"


def test_without_pip_and_uv_it_says_how_to_get_them(shelf, site, tmp_path):
    python = environment(tmp_path / "env")
    arguments = ("demo-kernels==1.0", "--index-url", f"{site[1]}/index/", "--cuda-version", "cu130")
    answer = installer(shelf.out / "install_wheel.py", python, *arguments, path="/nowhere")
    assert answer.returncode == 2
    assert "has no pip, and uv is not on PATH" in answer.stderr
    assert "ensurepip" in answer.stderr


def test_uv_run_starts_the_installer(shelf, site, tmp_path):
    if shutil.which("uv") is None:
        pytest.skip("no uv here")
    python = environment(tmp_path / "env")
    run = ["uv", "run", "--no-project", "--no-config", "--python", sys.executable]
    arguments = ["demo-kernels==1.0", "--index-url", f"{site[1]}/index/", "--cuda-version", "cu130", "--python", python]
    command = [*run, shelf.out / "install_wheel.py", *arguments]
    variables = _variables(FATWHEEL_GPU="9.0", UV_NO_CACHE="1")
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=variables, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert installed(python) == "1.0+cu130.sm9x"


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_a_damaged_file_is_not_installed(request, tmp_path, tool):
    python = request.getfixturevalue("with_pip") if tool == "pip" else environment(tmp_path / "env")
    if tool == "uv" and shutil.which("uv") is None:
        pytest.skip("no uv here")
    broken = Shelf(tmp_path)
    place = broken.wheel("3.0+cu130.sm12x", tags="py3-none-any", covers=("12.1",))
    broken.index()
    other = make_wheel(tmp_path, "3.0+cu130.sm12x", tags="py3-none-any", covers=("12.1",), body="other = True\n")
    place.write_bytes(other.read_bytes())
    answer = installer(broken.out / "install_wheel.py", python, "demo-kernels", "--cuda-version", "cu130")
    assert answer.returncode == 1
    assert "hash" in answer.stderr.lower()
    assert installed(python) != "3.0+cu130.sm12x"


def test_an_index_that_is_not_there_is_a_usage_error(with_pip, shelf, site):
    answer = installer(shelf.out / "install_wheel.py", with_pip, "demo-kernels", "--index-url", f"{site[1]}/nothing/")
    assert answer.returncode == 2
    assert "index.json: 404" in answer.stderr


def oldest_python():
    """The oldest Python here of those that scripts are written for."""
    for minor in (9, 10):
        found = [
            shutil.which(f"python3.{minor}"),
            *map(str, Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python")),
        ]
        for path in filter(None, found):
            if subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
                return path
    return None


@pytest.mark.parametrize("script", ["install_wheel.py", "smoke_import.py", "smoke_gpu.py", "fits.py"])
def test_scripts_start_on_the_oldest_python(script):
    python = oldest_python()
    if python is None:
        pytest.skip("no Python older than 3.11 here")
    place = Path(__file__).resolve().parents[2] / "scripts" / script
    load = f"import runpy; runpy.run_path({str(place)!r}, run_name='loaded')"
    answer = subprocess.run([python, "-Ic", load], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
