"""fatwheel installs from a wheel, an sdist and a Git URL, with pip and uv, into environments without this checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from fatwheel import __version__

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = {"install_wheel.py", "fits.py", "smoke_gpu.py", "smoke_import.py", "with_cache.py", "build_flashinfer.py"}

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("install")]


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a command outside of this checkout's environment and return its output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FATWHEEL", "GIT_"))}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=kept | (env or {}), check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def pip(*arguments: str | Path, cwd: Path) -> str:
    return run(sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Git repository with the files of this checkout in one commit."""
    place = tmp_path_factory.mktemp("source") / "fatwheel"
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    author = {
        f"GIT_{role}_{what}": "test@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    run("git", "init", "-q", "-b", "main", cwd=place)
    run("git", "add", "-A", cwd=place)
    run("git", "commit", "-qm", "Everything", cwd=place, env=author)
    return place


@pytest.fixture(scope="module")
def sdist(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sdist")
    run(shutil.which("uv") or "uv", "build", "-q", "--sdist", "-o", place, repository, cwd=place)
    (found,) = place.glob("*.tar.gz")
    return found


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "-w", place, repository, cwd=place)
    (found,) = place.glob("*.whl")
    return found


def members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_contains_one_package_with_its_scripts_and_data(wheel: Path) -> None:
    names = members(wheel)
    assert wheel.name == f"fatwheel-{__version__}-py3-none-any.whl"
    assert {name.split("/")[0] for name in names} == {"fatwheel", f"fatwheel-{__version__}.dist-info"}
    assert {f"fatwheel/scripts/{name}" for name in SCRIPTS} <= names
    assert {"fatwheel/data/toolkits.json", "fatwheel/data/picker.html", "fatwheel/py.typed"} <= names


def test_the_metadata_describes_the_project_on_a_package_index(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"fatwheel-{__version__}.dist-info/METADATA").decode()
    head, _, description = text.partition("\n\n")
    assert "Project-URL: Homepage, https://" in head
    assert "Description-Content-Type: text/markdown" in head
    assert description.startswith("# fatwheel\n")
    assert "](docs/" not in description


def test_the_sdist_builds_the_same_wheel_and_contains_no_local_files(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "noxfile.py", "requirements/dev.txt", "scripts/install_wheel.py"} <= names
    assert not [name for name in names if name.startswith((".venv", ".nox", "rehearsal", "docs/_build"))]
    pip("wheel", "--no-deps", "-w", tmp_path, sdist, cwd=tmp_path)
    (rebuilt,) = tmp_path.glob("*.whl")
    assert members(rebuilt) == members(wheel)


def use(command: list[str | Path], folder: Path) -> None:
    """Start a project with an installed fatwheel; its own modules of the same names are not imported."""
    folder.mkdir()
    for name in ("pipeline.py", "nox.py", "fatwheel.py"):
        (folder / name).write_text("raise SystemExit('the project was imported')\n")
    assert run(*command, "--version", cwd=folder).split()[-1] == __version__
    run(*command, "init", "--name", "mykernels", "--version", "1.0", "--yes", cwd=folder)
    run(*command, "check", cwd=folder)
    assert "cu" in run(*command, "plan", "--json", cwd=folder)


@pytest.mark.parametrize("source", ["wheel", "sdist", "git"])
def test_pip_installs_it(source: str, request: pytest.FixtureRequest, repository: Path, tmp_path: Path) -> None:
    requirement = f"git+file://{repository}" if source == "git" else request.getfixturevalue(source)
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env", cwd=tmp_path)
    python = tmp_path / "env/bin/python"
    pip("--python", python, "install", requirement, cwd=tmp_path)
    use([tmp_path / "env/bin/fatwheel"], tmp_path / "project")
    where = "import fatwheel.resources, pathlib; print(pathlib.Path(fatwheel.__file__).parent)"
    package = Path(run(python, "-P", "-c", where, cwd=tmp_path / "project").strip())
    assert package.is_relative_to(tmp_path / "env")
    assert {path.name for path in (package / "scripts").iterdir()} >= SCRIPTS


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
@pytest.mark.parametrize("source", ["wheel", "git"])
def test_uvx_runs_it(source: str, request: pytest.FixtureRequest, repository: Path, tmp_path: Path) -> None:
    requirement = f"git+file://{repository}" if source == "git" else request.getfixturevalue(source)
    use(["uvx", "-q", "-p", sys.executable, "--from", str(requirement), "fatwheel"], tmp_path / "project")
