"""Files on a branch of a repository: made upon what is there, committed and pushed, again where another was faster."""

from __future__ import annotations

import base64
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fatwheel.errors import ReleaseRefused, UsageError
from fatwheel.processes import Answer, run
from fatwheel.stores.clock import Clock

_SECONDS = 600.0  # for one git command: an index is small, a branch's history may not be
_ATTEMPTS = 8
_LOST = ("fetch first", "non-fast-forward", "cannot lock ref", "failed to update ref")
"""What git says where another push came between."""

Fill = Callable[[Path], None]


@dataclass(frozen=True)
class Branch:
    """A folder of a branch. ``remote`` is a URL without a password; the token goes to its host alone."""

    remote: str
    name: str
    folder: str = "."
    token: str | None = None


@dataclass(frozen=True)
class Pushed:
    """What came of it: the commit that holds the files, whether it is new, and how often it had to begin again."""

    commit: str
    changed: bool
    races: int


def push(branch: Branch, fill: Fill, message: str, *, environ: Mapping[str, str], clock: Clock | None = None) -> Pushed:
    """Let ``fill`` make the files in the branch's folder as it is now, and push what changed.

    Where another push came first, ``fill`` is called again upon what that one left: nothing of it is lost. Nothing is
    forced. Raises `ReleaseRefused` where the repository cannot be read or written.
    """
    clock = clock or Clock()
    work = Path(tempfile.mkdtemp(prefix="fatwheel-branch-"))
    try:
        git = _Git(work, _environment(branch, environ), branch)
        git("init", "--quiet", "--initial-branch", branch.name)
        for races in range(_ATTEMPTS):
            found = git.take()
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
            if not any(word in answer.errors for word in _LOST):
                raise git.refusal("pushed to", answer)
            clock.sleep((0.5 + clock.chance()) * 2**races)
        raise ReleaseRefused(
            f"another push came first, {_ATTEMPTS} times", where=f"{branch.remote} {branch.name}",
            help="run it again once the other writers are done",
        )  # fmt: skip
    finally:
        shutil.rmtree(work, ignore_errors=True)


@dataclass(frozen=True)
class _Git:
    """git in one work tree."""

    folder: Path
    env: Mapping[str, str]
    branch: Branch

    def __call__(self, *arguments: str, may_fail: bool = False) -> Answer:
        answer = run(["git", *arguments], env=self.env, timeout=_SECONDS, cwd=self.folder)
        if answer.status == 127:
            raise UsageError("git is not installed", help="install git")
        if answer.status != 0 and not may_fail:
            raise self.refusal(f"prepared (git {arguments[0]}) for", answer)
        return answer

    def take(self) -> str | None:
        """Make the work tree what the branch holds now; its commit, or None for a branch that is not there yet."""
        name = f"refs/heads/{self.branch.name}"
        listed = self("ls-remote", "--exit-code", self.branch.remote, name, may_fail=True)
        if listed.status == 2:
            return None
        if listed.status != 0:
            raise self.refusal("read from", listed)
        self("fetch", "--quiet", "--depth=1", "--no-tags", self.branch.remote, name)
        self("reset", "--quiet", "--hard", "FETCH_HEAD")
        self("clean", "--quiet", "-d", "--force", "-x")
        return self("rev-parse", "HEAD").output.strip()

    def refusal(self, what: str, answer: Answer) -> ReleaseRefused:
        """The error with git's own words."""
        return ReleaseRefused(
            f"nothing could be {what} {self.branch.remote}:\n{answer.tail or answer.ended}",
            where=f"branch {self.branch.name}",
            help="check that the repository is there and that the token may write to it",
        )


def _environment(branch: Branch, environ: Mapping[str, str]) -> dict[str, str]:
    """git's: no questions, an author, and the token as a header for the remote's host, never in an argument."""
    env = {
        key: value for key, value in environ.items() if not key.startswith(("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX"))
    }
    for role in ("AUTHOR", "COMMITTER"):
        env.setdefault(f"GIT_{role}_NAME", "fatwheel")
        env.setdefault(f"GIT_{role}_EMAIL", "fatwheel@users.noreply.github.com")
    env["GIT_TERMINAL_PROMPT"] = "0"
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


def remote_of(repository: str, environ: Mapping[str, str]) -> str:
    """The URL of OWNER/REPO on the server that Actions names, github.com by itself."""
    return f"{(environ.get('GITHUB_SERVER_URL') or 'https://github.com').rstrip('/')}/{repository}.git"
