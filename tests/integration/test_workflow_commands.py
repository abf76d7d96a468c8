"""The commands of the last jobs of a workflow: `deliver` and `pick`."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from fatwheel.__main__ import run
from fatwheel.declaration import load
from fatwheel.plan import make_plan
from fatwheel.records.build import BuildRecord, ToolchainRecord
from fatwheel.records.plan import Cell
from fatwheel.records.smoke import Check, SmokeRecord
from tests.fake_github.server import Site
from tests.unit.release.wheels import digest, make_wheel
from tests.unit.workflows.repositories import copied
from tests.unit.workflows.test_branch import files, git

pytestmark = pytest.mark.integration
RUN, COMMIT = 77, "a" * 40


@pytest.fixture
def site(monkeypatch):
    with Site("example/libnearest") as site:
        monkeypatch.setenv("GITHUB_API_URL", site.api_url)
        monkeypatch.setenv("GITHUB_TOKEN", site.token)
        monkeypatch.setenv("GITHUB_REPOSITORY", "example/libnearest")
        monkeypatch.setenv("GITHUB_RUN_ID", str(RUN))
        monkeypatch.setenv("GITHUB_SHA", COMMIT)
        for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
            monkeypatch.delenv(name, raising=False)
        yield site


def put(site: Site, cell: Cell, *, passed: bool = True) -> None:
    """Add the workflow artifact of a cell."""
    content = f"the bytes of {cell.wheel}".encode()
    sha256 = hashlib.sha256(content).hexdigest()
    built = BuildRecord(
        wheel=cell.wheel, bytes=len(content), sha256=sha256, cell=cell, engine="host", commit=COMMIT,
        toolchain=ToolchainRecord(kind="pypi", release="13.0", nvcc=None, host_compiler=None),
    )  # fmt: skip
    tried = SmokeRecord(wheel=cell.wheel, sha256=sha256, import_=Check(outcome="passed" if passed else "failed"))
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr(cell.wheel, content)
        archive.writestr(f"{cell.wheel}.build.json", built.to_json())
        archive.writestr(f"{cell.wheel}.smoke.json", tried.to_json())
    site.state.add_artifact(RUN, cell.artifact, whole.getvalue())


def prepared(place: Path, completeness: str = "complete") -> tuple[Path, list[Cell], list[str]]:
    matrix = copied("cmake", place / "r")
    text = matrix.read_text().replace('{tag: "v{version}"}', f'{{tag: "v{{version}}", completeness: {completeness}}}')
    matrix.write_text(text)
    plan = make_plan(load(matrix))
    plan.write(place / "plan.json")
    command = ["pick", "--matrix", str(matrix), "--plan", str(place / "plan.json"), "--from", f"run:{RUN}",
               "--output", str(place / "upload")]  # fmt: skip
    return matrix, plan.cells, command


def test_only_wheels_and_sdists_that_passed_are_downloaded(site, tmp_path):
    _, cells, command = prepared(tmp_path)
    for cell in cells:
        put(site, cell)
    assert run(command) == 0
    assert {file.name for file in (tmp_path / "upload").iterdir()} == {cell.wheel for cell in cells}
    assert not list(tmp_path.glob(".fatwheel-pick-*"))
    assert not site.state.releases  # nothing is written anywhere


@pytest.mark.parametrize(("completeness", "taken"), [("complete", 0), ("partial", -1)])
def test_a_failed_wheel_is_excluded_and_blocks_a_complete_release(site, tmp_path, capsys, completeness, taken):
    _, cells, command = prepared(tmp_path, completeness)
    for number, cell in enumerate(cells):
        put(site, cell, passed=number > 0)
    assert run(command) == 6
    assert len(list((tmp_path / "upload").iterdir())) == (len(cells) + taken if taken else 0)
    assert "smoke test failed" in capsys.readouterr().out


def test_a_run_of_another_commit_is_an_error(site, tmp_path, capsys, monkeypatch):
    _, cells, command = prepared(tmp_path)
    for cell in cells:
        put(site, cell)
    site.state.runs[RUN] = "b" * 40
    command[command.index(f"run:{RUN}")] = "run:example/libnearest/77"
    assert run([*command, "--commit", COMMIT]) == 0  # this run itself is of its commit
    shutil.rmtree(tmp_path / "upload")
    monkeypatch.setenv("GITHUB_RUN_ID", "78")
    assert run([*command, "--commit", COMMIT]) == 7
    assert "this run built commit bbbbbbbbbbbb" in capsys.readouterr().err


@pytest.mark.usefixtures("site")
def test_a_plan_without_files_for_pypi_is_an_error(tmp_path, capsys):
    matrix, _, command = prepared(tmp_path)
    matrix.write_text(matrix.read_text().replace("    publish: pypi\n", ""))
    assert run(command) == 2
    assert "nothing in this plan goes to PyPI" in capsys.readouterr().err


@pytest.fixture
def host(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q", "--bare", "--initial-branch=main", str(tmp_path / "index.git"))
    (tmp_path / "gitconfig").write_text(
        f'[url "{tmp_path}/index.git"]\n  insteadOf = https://github.com/octo/index.git\n[user]\n  name = t\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    return tmp_path / "index.git"


def released(place: Path, *versions: str) -> str:
    for version in versions:
        wheel = make_wheel(place / version, "sm9x", version=version)
        assert digest(wheel)
        command = ["release", "--store", f"dir:{place}/store", "--tag", f"v{version}", str(wheel)]
        assert run([*command, "--record", str(place / f"{version}.json")]) == 0
    return f"dir:{place}/store"


def deliver(*stores: str, more: tuple[str, ...] = ()) -> list[str]:
    asked = [part for store in stores for part in ("--store", store)]
    base = ["--base-url", "https://example.com/d"]
    return ["deliver", *asked, *base, "--to", "octo/index", "--branch", "gh-pages", "--path", "whl", *more]


def test_the_index_of_all_stores_is_pushed_once(host, tmp_path, capsys):
    first, second = released(tmp_path / "a", "1.0"), released(tmp_path / "b", "1.1.dev20261201")
    assert run(deliver(first, second)) == 0
    rows = json.loads(git(host, "show", "gh-pages:whl/index.json"))["wheels"]
    assert sorted(row["version"] for row in rows) == ["1.0+cu130.sm9x", "1.1.dev20261201+cu130.sm9x"]
    assert "whl/cu130/demo/index.html" in files(host)
    capsys.readouterr()
    assert run(deliver(first, second)) == 0
    assert "(no changes)" in capsys.readouterr().out
    assert run(deliver(second, first)) == 0  # whichever is named first
    assert "(no changes)" in capsys.readouterr().out


def test_expired_releases_are_removed_from_the_index_first(host, tmp_path):
    store = released(tmp_path / "a", "0.9", "1.0", "1.1.dev20261101", "1.1.dev20261102", "1.1.dev20261103")
    matrix = copied("minikernels", tmp_path / "m")
    matrix.write_text(matrix.read_text().replace("tag: minikernels-v{version}", "tag: v{version}")
                      .replace("releases: 14", "releases: 2"))  # fmt: skip
    assert run(deliver(store, more=("--retire", "nightly", "--matrix", str(matrix)))) == 0
    rows = json.loads(git(host, "show", "gh-pages:whl/index.json"))["wheels"]
    assert sorted(row["tag"] for row in rows) == ["v0.9", "v1.0", "v1.1.dev20261102", "v1.1.dev20261103"]
    prune = ["prune", "--matrix", str(matrix), "--channel", "nightly", "--store", store, "--apply"]
    assert run(prune) == 0
    assert sorted(p.name for p in (tmp_path / "a/store").iterdir() if not p.name.startswith(".")) == [
        "v0.9", "v1.0", "v1.1.dev20261102", "v1.1.dev20261103"
    ]  # fmt: skip


def test_an_unreadable_store_pushes_nothing(host, tmp_path, site, capsys):
    site.state.archived = False
    store = released(tmp_path / "a", "1.0")
    assert run(deliver(store, "github:octo/other")) == 7
    assert "octo/other" in capsys.readouterr().err
    assert not git(host, "branch", "--list").strip()


def test_exactly_one_destination_is_required(tmp_path, capsys):
    assert run(["deliver", "--store", f"dir:{tmp_path}"]) == 2
    assert run(["deliver", "--store", f"dir:{tmp_path}", "--to", "a/b", "-o", str(tmp_path)]) == 2
    assert (
        run(["deliver", "--store", f"dir:{tmp_path}", "-o", str(tmp_path), "--retire", "nightly", "--no-matrix"]) == 2
    )
    assert "--retire requires a matrix.yaml" in capsys.readouterr().err
