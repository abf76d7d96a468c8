"""Update files on a branch of a repository with git, retrying if another push comes first."""

from __future__ import annotations

import base64
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fatwheel.clock import Clock
from fatwheel.errors import ReleaseRefused, UsageError
from fatwheel.processes import Answer, run

_SECONDS = 600.0  # per git command
_ATTEMPTS = 8
_REJECTIONS = ("fetch first", "non-fast-forward", "cannot lock ref", "failed to update ref")
"""Messages of git (which has no exit code for this) when another push came first; not localized under LC_ALL=C."""

Fill = Callable[[Path], None]


@dataclass(frozen=True)
class Branch:
    """A folder on a branch. ``remote`` is a URL without a password; the token is sent only to its host."""

    remote: str
    name: str
    folder: str = "."
    token: str | None = None


@dataclass(frozen=True)
class Pushed:
    """The result of a push: the branch's commit, whether it is new, and how many other pushes came first."""

    commit: str
    changed: bool
    races: int


def push(branch: Branch, fill: Fill, message: str, *, environ: Mapping[str, str], clock: Clock | None = None) -> Pushed:
    """Check out the branch's folder, let ``fill`` update it, and push the changes.

    If another push comes first, ``fill`` is called again on the new state of the branch, so that nothing is lost. Never
    force-pushes. Raises `ReleaseRefused` if the repository cannot be read or written.
    """
    clock = clock or Clock()
    work = Path(tempfile.mkdtemp(prefix="fatwheel-branch-"))
    try:
        git = _Git(work, _environment(branch, environ), branch)
        git("init", "--quiet", "--initial-branch", branch.name)
        for races in range(_ATTEMPTS):
            found = git.checkout()
            folder = work / branch.folder
            folder.mkdir(parents=True, exist_ok=True)
            fill(folder)
            git("add", "--all", "--", branch.folder)
            if not git("status", "--porcelain").output and found:
                return Pushed(found, changed=False, races=races)
            git("commit", "--quiet", "--allow-empty", "--message", message)
            commit = git("rev-parse", "HEAD").output.strip()
            answer = git("push", "--quiet", branch.remote, f"HEAD:refs/heads/{branch.name}", may_fail=True)
            if answer.status == 0:
                return Pushed(commit, changed=True, races=races)
            if not any(message in answer.errors for message in _REJECTIONS):
                raise git.refusal("push to", answer)
            clock.sleep((0.5 + clock.chance()) * 2**races)
        raise ReleaseRefused(
            f"gave up after {_ATTEMPTS} attempts: other pushes always came first",
            where=f"{branch.remote} {branch.name}",
            help="run the command again when no other job is pushing to the branch",
        )  # fmt: skip
    finally:
        shutil.rmtree(work, ignore_errors=True)


@dataclass(frozen=True)
class _Git:
    """Runs git in one work tree."""

    folder: Path
    env: Mapping[str, str]
    branch: Branch

    def __call__(self, *arguments: str, may_fail: bool = False) -> Answer:
        answer = run(["git", *arguments], env=self.env, timeout=_SECONDS, cwd=self.folder)
        if answer.status == 127:
            raise UsageError("git is not installed", help="install git")
        if answer.status != 0 and not may_fail:
            raise self.refusal(f"run git {arguments[0]} for", answer)
        return answer

    def checkout(self) -> str | None:
        """Check out the current branch and return its commit; None if the branch does not exist yet."""
        name = f"refs/heads/{self.branch.name}"
        listed = self("ls-remote", "--exit-code", self.branch.remote, name, may_fail=True)
        if listed.status == 2:
            return None
        if listed.status != 0:
            raise self.refusal("read", listed)
        self("fetch", "--quiet", "--depth=1", "--no-tags", self.branch.remote, name)
        self("reset", "--quiet", "--hard", "FETCH_HEAD")
        self("clean", "--quiet", "-d", "--force", "-x")
        return self("rev-parse", "HEAD").output.strip()

    def refusal(self, action: str, answer: Answer) -> ReleaseRefused:
        """An error with the output of git."""
        return ReleaseRefused(
            f"cannot {action} {self.branch.remote}:\n{answer.tail or answer.ended}",
            where=f"branch {self.branch.name}",
            help="check that the repository exists and that the token has write access",
        )


def _environment(branch: Branch, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables for git: no prompts, an author, and the token as a header for the remote's host only."""
    env = {
        key: value for key, value in environ.items() if not key.startswith(("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX"))
    }
    for role in ("AUTHOR", "COMMITTER"):
        env.setdefault(f"GIT_{role}_NAME", "fatwheel")
        env.setdefault(f"GIT_{role}_EMAIL", "fatwheel@users.noreply.github.com")
    env |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    if branch.token and branch.remote.startswith("https://"):
        secret = base64.b64encode(f"x-access-token:{branch.token}".encode()).decode()
        host = "/".join(branch.remote.split("/")[:3])
        count = int(env.get("GIT_CONFIG_COUNT") or 0)
        env |= {
            "GIT_CONFIG_COUNT": str(count + 1),
            f"GIT_CONFIG_KEY_{count}": f"http.{host}/.extraheader",
            f"GIT_CONFIG_VALUE_{count}": f"AUTHORIZATION: basic {secret}",
        }
    return env


def remote_url(repository: str, environ: Mapping[str, str]) -> str:
    """The URL of OWNER/REPO on the server in ``GITHUB_SERVER_URL``, github.com by default."""
    return f"{(environ.get('GITHUB_SERVER_URL') or 'https://github.com').rstrip('/')}/{repository}.git"
