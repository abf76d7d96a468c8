"""A repository with the generated workflows of minikernels, run by act on this machine against the fake GitHub."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fatwheel.__main__ import run as fatwheel
from fatwheel.workflows.pins import default_pins
from tests.fake_github.server import Site

ROOT = Path(__file__).resolve().parents[2]
ACTIONS = ROOT / "tests" / "actions"
REPLACED = {
    "actions/checkout": "checkout", "actions/setup-python": "setup-python", "actions/attest": "attest",
    "actions/upload-artifact": "upload-artifact", "actions/download-artifact": "download-artifact",
}  # fmt: skip
NOXFILE = '"""Sessions from fatwheel."""\n\nfrom fatwheel.sessions import register\n\nregister()\n'
REPOSITORY, INDEX = "octo/minikernels", "octo/index"
WORKFLOWS = f"""
workflows:
  requirements: requirements.txt
  index: {{repository: {INDEX}, branch: gh-pages, path: whl}}
secrets:
  {INDEX}: INDEX_TOKEN
"""


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@dataclass
class Run:
    """What act said: the status, each job's outcome and seconds, and all lines."""

    status: int
    jobs: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)  # jobs with a step that failed

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass
class Repository:
    """The repository, the one that its index is pushed to, and how both are found."""

    folder: Path
    index: Path
    home: Path
    commit: str

    def act(self, site: Site, *arguments: str, event: dict[str, Any], trigger: str = "push", run: int = 1) -> Run:
        """Run the release workflow."""
        (self.home / "event.json").write_text(json.dumps(event))
        paths = [str(ROOT / "pipeline"), *(p for p in (sysconfig.get_path("purelib"),) if p)]
        variables = {
            "GITHUB_API_URL": site.api_url, "FAKE_TOKEN": site.token, "FAKE_ORIGIN": str(self.folder),
            "TEST_PYTHON": sys.executable, "TEST_PATHS": ":".join(paths), "TEST_ACTIONS": str(ACTIONS),
            "GITHUB_RUN_ID": str(run), "GIT_CONFIG_GLOBAL": str(self.home / "gitconfig"),
        }  # fmt: skip
        command = [
            shutil.which("act") or "act", trigger, "--json", "-e", str(self.home / "event.json"),
            "-W", ".github/workflows/release.yml", "--no-cache-server", "--artifact-server-addr", "127.0.0.1",
            "-s", f"GITHUB_TOKEN={site.token}", "-s", f"INDEX_TOKEN={site.token}", "--concurrent-jobs", "2",
            *(part for label in ("ubuntu-24.04", "ubuntu-24.04-arm", "gpu-test") for part in
              ("-P", f"{label}=-self-hosted")),
            *(part for name, value in variables.items() for part in ("--env", f"{name}={value}")),
            *(part for name, folder in REPLACED.items() for part in
              ("--local-repository", f"{name}@{default_pins()[name].commit}={ACTIONS / folder}")),
            *arguments,
        ]  # fmt: skip
        env = {**os.environ, "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))}
        for name in list(env):
            if name.startswith(("GITHUB_", "PYTEST_")):
                del env[name]
        with subprocess.Popen(
            command, cwd=self.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            found = Run(0)
            began: dict[str, float] = {}
            for line in process.stdout or ():
                _heard(line, found, began)
            found.status = process.wait()
        return found


def _heard(line: str, found: Run, began: dict[str, float]) -> None:
    try:
        said = json.loads(line)
    except ValueError:
        found.lines.append(line.rstrip())
        return
    job, text = str(said.get("job", "")).partition("/")[2], str(said.get("msg", "")).rstrip()
    found.lines.append(f"[{job}] {text}")
    began.setdefault(job, time.monotonic())
    if said.get("stepResult") == "failure":
        found.broken.add(job)
    if "jobResult" in said:  # it says of each of a matrix's jobs what became of all of them together
        found.jobs[job] = "failure" if job in found.broken else "success"
        found.seconds[job] = time.monotonic() - began[job]


def make_repository(
    place: Path, changes: dict[str, str], *, files: dict[str, str] | None = None, edits: dict[str, str] | None = None
) -> Repository:
    """A repository with minikernels' sources, its declaration changed in places, and the workflows generated from it.

    ``files`` are put into it; ``edits`` are put at the ends of files.
    """
    folder, index, home = place / "repository", place / "index.git", place / "home"
    shutil.copytree(ROOT / "examples" / "minikernels", folder, ignore=shutil.ignore_patterns("__pycache__"))
    home.mkdir()
    text = (folder / "matrix.yaml").read_text()
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    (folder / "matrix.yaml").write_text(re.sub(r"(?m)^# yaml-language-server.*\n", "", text) + WORKFLOWS)
    (folder / "noxfile.py").write_text(NOXFILE)
    for kernel in ("rms_norm", "rotary_embedding", "softmax"):  # one is enough
        (folder / "kernels" / f"{kernel}.cu").unlink()
    (folder / "requirements.txt").write_text("# what the tests' own Python has already\n")
    for name, content in (files or {}).items():
        (folder / name).write_text(content)
    for name, more in (edits or {}).items():
        (folder / name).write_text((folder / name).read_text() + more)
    git(place, "init", "--quiet", "--initial-branch=main", str(folder))
    assert fatwheel(["generate", "--matrix", str(folder / "matrix.yaml")]) == 0
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "minikernels")
    git(folder, "tag", "minikernels-v0.1.0")
    git(folder, "remote", "add", "origin", f"https://github.com/{REPOSITORY}.git")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(place, "init", "--quiet", "--bare", "--initial-branch=gh-pages", str(index))
    (home / "gitconfig").write_text(
        f'[url "{index}"]\n  insteadOf = https://github.com/{INDEX}.git\n[safe]\n  directory = *\n'
    )
    return Repository(folder, index, home, git(folder, "rev-parse", "HEAD"))
