"""Generated workflows: their contents, and comparing, writing and deleting them."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from fatwheel import __version__
from fatwheel.__main__ import run
from fatwheel.declaration import load
from fatwheel.workflows.context import read_context
from fatwheel.workflows.generate import find_differences, generate_files
from tests.golden import same_as_golden
from tests.unit.workflows.repositories import ROOT, SETS, changed, copied

NOX = {"flashinfer-split"}
GOLDEN = ("flashinfer-split", "minikernels")  # nox with hashes, an index and secrets; uvx with all channels

_GENERATED: dict[str, dict[str, str]] = {}


def generate(name, place):
    return dict(generate_files(read_context(load(copied(name, place, nox=name in NOX)))))


def files_of(name, place):
    """The files of a set, generated once for all tests."""
    if name not in _GENERATED:
        _GENERATED[name] = generate(name, place)
    return _GENERATED[name]


@pytest.mark.parametrize("name", GOLDEN)
def test_generated_files_match_the_golden_ones(name, tmp_path):
    for file, text in files_of(name, tmp_path).items():
        same_as_golden(f"workflows/{name}/{file}", text)


@pytest.mark.parametrize("name", SETS)
def test_the_working_folder_and_locale_do_not_matter(name, tmp_path, monkeypatch):
    first = generate(name, tmp_path / "a" / "b")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("LC_ALL", "C")
    assert generate(name, tmp_path / "c") == first
    for text in first.values():
        assert "\r" not in text
        assert text.endswith("\n")
        assert not re.search(r"[ \t]$", text, re.MULTILINE)


def test_the_workflows_of_this_repository_are_up_to_date():
    assert not find_differences(load(ROOT / "matrix.yaml"))


def test_the_header_depends_on_the_configuration_and_not_on_its_layout(tmp_path):
    matrix = copied("minikernels", tmp_path)
    before = read_context(load(matrix)).digest
    assert read_context(changed(matrix, ("\npackages:", "\n# A comment\n\npackages:"))).digest == before
    assert read_context(changed(matrix, ("12.0f\n      # 11.0", "12.0f 12.1a\n      # 11.0"))).digest != before


def test_a_changed_line_is_out_of_date_until_generated_again(tmp_path, capsys):
    matrix = copied("minikernels", tmp_path)
    command = ["generate", "--matrix", str(matrix)]
    assert run(command) == 0
    assert run([*command, "--check"]) == 0
    assert run(["check", "--matrix", str(matrix)]) == 0
    changed(matrix, ("aarch64: ubuntu-24.04-arm", "aarch64: my-own-arm"))
    capsys.readouterr()
    assert run([*command, "--check"]) == 3
    said = capsys.readouterr().err
    assert "--- .github/workflows/release.yml" in said
    assert f"run `fatwheel generate --matrix {matrix}`" in said
    assert run(["check", "--matrix", str(matrix)]) == 3
    assert "the generated workflows are out of date" in capsys.readouterr().err
    assert run(command) == 0
    assert run(["check", "--matrix", str(matrix)]) == 0


def test_a_manual_edit_is_shown_with_its_line(tmp_path, capsys):
    matrix = copied("minikernels", tmp_path)
    assert run(["generate", "--matrix", str(matrix)]) == 0
    path = tmp_path / ".github/workflows/release.yml"
    path.write_text(path.read_text().replace("fail-fast: false", "fail-fast: true"))
    assert run(["generate", "--check", "--matrix", str(matrix)]) == 3
    said = capsys.readouterr().err
    assert "-      fail-fast: true" in said
    assert "+      fail-fast: false" in said


def test_other_line_endings_are_out_of_date(tmp_path, capsys):
    matrix = copied("minikernels", tmp_path)
    assert run(["generate", "--matrix", str(matrix)]) == 0
    path = tmp_path / ".github/workflows/nightly.yml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert run(["generate", "--check", "--matrix", str(matrix)]) == 3
    assert "nightly.yml" in capsys.readouterr().err


def test_a_stale_workflow_is_deleted(tmp_path, capsys):
    matrix = copied("minikernels", tmp_path)
    assert run(["generate", "--matrix", str(matrix)]) == 0
    own = tmp_path / ".github/workflows/own.yml"
    own.write_text("name: mine\n")
    text = matrix.read_text()
    matrix.write_text(text[: text.index("  nightly: ")] + text[text.index("  pull-request: ") :])
    capsys.readouterr()
    assert run(["generate", "--check", "--matrix", str(matrix)]) == 3
    assert ".github/workflows/nightly.yml: stale" in capsys.readouterr().err
    assert run(["generate", "--json", "--matrix", str(matrix)]) == 0
    assert json.loads(capsys.readouterr().out)["files"][".github/workflows/nightly.yml"] == "stale"
    assert not (tmp_path / ".github/workflows/nightly.yml").exists()
    assert own.read_text() == "name: mine\n"


def test_generated_files_are_marked_in_gitattributes(tmp_path):
    matrix = copied("cmake", tmp_path)
    (tmp_path / ".gitattributes").write_text("*.bin binary\n")
    assert run(["generate", "--matrix", str(matrix)]) == 0
    assert (tmp_path / ".gitattributes").read_text().splitlines() == [
        "*.bin binary",
        ".github/workflows/nightly.yml linguist-generated=true text eol=lf",
        ".github/workflows/release.yml linguist-generated=true text eol=lf",
    ]


def test_every_job_knows_the_path_of_matrix_yaml(tmp_path):
    matrix = copied("minikernels", tmp_path / "packages" / "mini")
    (tmp_path / "packages" / "mini" / ".git").rmdir()
    (tmp_path / ".git").mkdir()
    assert run(["generate", "--matrix", str(matrix)]) == 0
    held = yaml.safe_load((tmp_path / ".github/workflows/release.yml").read_text())
    assert held["env"] == {"FATWHEEL_MATRIX": "packages/mini/matrix.yaml"}


def test_running_nox_requires_sessions_in_the_noxfile(tmp_path, capsys):
    matrix = copied("minikernels", tmp_path)
    changed(matrix, ("runners:\n", "workflows: {run: nox}\n\nrunners:\n"))
    assert run(["generate", "--matrix", str(matrix)]) == 2
    assert "noxfile.py does not import fatwheel.sessions" in capsys.readouterr().err


def jobs(name, file, place):
    return yaml.safe_load(files_of(name, place)[file])["jobs"]


@pytest.mark.parametrize("name", SETS)
def test_only_publishing_jobs_have_write_access(name, tmp_path):
    for file, text in files_of(name, tmp_path).items():
        for job, body in yaml.safe_load(text)["jobs"].items():
            if body["permissions"].get("contents") == "write":
                assert job in {"publish", "index", "prune"}, (file, job)
                assert body["environment"], (file, job)
        assert "pull_request_target" not in text
        assert text.count("persist-credentials: false") == text.count("uses: actions/checkout@")


def test_pull_requests_have_no_secrets_and_sign_nothing(tmp_path):
    text = files_of("minikernels", tmp_path)["pull-request.yml"]
    assert "secrets." not in text
    assert "id-token" not in text
    assert "actions/attest" not in text


def test_the_token_of_another_repository_is_passed_only_to_jobs_that_write_to_it(tmp_path):
    found = jobs("flashinfer-split", "nightly.yml", tmp_path)
    holders = {job for job, body in found.items() if "secrets.WHL_TOKEN" in json.dumps(body)}
    assert holders == {"publish", "index", "prune"}
    assert found["publish"]["permissions"]["contents"] == "read"
    assert "--commit" not in json.dumps(found["publish"])  # that repository does not have this commit
    assert "--commit" in json.dumps(jobs("flashinfer-split", "release.yml", tmp_path / "2")["publish"])


def test_pypi_gets_the_downloaded_files_by_trusted_publishing(tmp_path):
    found = jobs("cmake", "release.yml", tmp_path)["pypi"]
    assert found["needs"] == ["plan", "build", "smoke", "publish"]
    assert "needs.publish.result == 'success'" in found["if"]  # its release must be complete
    assert found["permissions"] == {"contents": "read", "actions": "read", "id-token": "write"}
    assert found["environment"] == "pypi"
    assert found["concurrency"]["group"] == "fatwheel-pypi-${{ needs.plan.outputs.tag }}"
    assert "uses" not in found  # no reusable workflow
    *_, pick, upload = found["steps"]
    assert "secrets." not in json.dumps(found["steps"])
    assert (
        pick["run"].split()
        == (
            f'uvx fatwheel=={__version__} pick \\ --plan "$RUNNER_TEMP"/plan/plan.json \\ --from "run:$RUN" \\ '
            '--commit "$COMMIT" \\ --output "$RUNNER_TEMP/upload" \\ --matrix matrix.yaml'
        ).split()
    )
    assert upload["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert upload["with"] == {"packages-dir": "${{ runner.temp }}/upload", "skip-existing": True}
    assert "pypi" not in jobs("minikernels", "release.yml", tmp_path / "2")


def test_publishing_waits_for_all_jobs_but_requires_only_the_plan(tmp_path):
    publish = jobs("minikernels", "release.yml", tmp_path)["publish"]
    assert publish["needs"] == ["plan", "build", "smoke"]
    assert publish["if"] == "${{ !cancelled() && needs.plan.result == 'success' }}"
    assert publish["concurrency"]["cancel-in-progress"] is False


def test_index_jobs_of_all_workflows_run_one_at_a_time(tmp_path):
    groups = {jobs("flashinfer-split", f"{n}.yml", tmp_path / n)["index"]["concurrency"]["group"]
              for n in ("release", "nightly")}  # fmt: skip
    assert groups == {"fatwheel-index"}


def test_pages_are_deployed_and_other_workflows_started_if_declared(tmp_path):
    found = jobs("torch", "release.yml", tmp_path)
    build, upload, deploy = found["index"]["steps"][-3:]
    assert build["env"]["STORE_1"] == "github:example/fast-attention"
    assert build["run"].endswith(' deliver --store "$STORE_1" --output "$RUNNER_TEMP/index"')
    assert upload["with"] == {"path": "${{ runner.temp }}/index"}
    assert deploy["id"] == "deploy"
    assert found["index"]["environment"]["url"] == "${{ steps.deploy.outputs.page_url }}"
    assert found["index"]["environment"]["name"] == "github-pages"
    assert found["index"]["permissions"] == {"contents": "read", "pages": "write", "id-token": "write"}
    assert found["dispatch"]["permissions"] == {"actions": "write"}
    assert "gh workflow run docs.yml" in found["dispatch"]["steps"][0]["run"]
    assert found["dispatch"]["needs"] == ["plan", "publish"]


def test_an_index_folder_and_retention_reach_their_jobs(tmp_path):
    found = jobs("flashinfer-providers", "nightly.yml", tmp_path)
    assert "--path simple" in found["index"]["steps"][-1]["run"]
    assert "--retire nightly" in found["index"]["steps"][-1]["run"]
    assert "prune --channel nightly --store" in found["prune"]["steps"][-1]["run"]
    assert found["prune"]["needs"] == ["plan", "index"]


def test_pull_requests_are_compared_with_the_nightlies_or_releases(tmp_path):
    for name, channel in (("torch", "release"), ("minikernels", "nightly")):
        estimate = jobs(name, "pull-request.yml", tmp_path / name)["estimate"]
        assert f"plan --channel {channel} --diff HEAD^1" in " ".join(estimate["steps"][-1]["run"].split(" \\\n  "))
        assert estimate["steps"][0]["with"]["fetch-depth"] == 2
        assert estimate["permissions"] == {"contents": "read"}


def test_private_registries_are_logged_in_to(tmp_path):
    matrix = copied("minikernels", tmp_path)
    declaration = changed(matrix, ("nvidia/cuda@", "ghcr.io/octo/cuda@"),
                          ("runners:\n", "secrets: {ghcr.io: GHCR_TOKEN}\n\nrunners:\n"))  # fmt: skip
    files = generate_files(read_context(declaration))
    assert "registry: ghcr.io" in files["release.yml"]
    assert "registry:" not in files["pull-request.yml"]  # it uses no image of that registry
