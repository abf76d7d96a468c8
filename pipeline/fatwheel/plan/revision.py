"""A declaration, and the files around it, as they stood in a git revision."""

from __future__ import annotations

import subprocess
from pathlib import Path

from fatwheel.declaration import Declaration, parse
from fatwheel.errors import DeclarationError, UsageError


def git(folder: Path, *arguments: str) -> str | None:
    """What a git command prints; None if it fails. Raises `UsageError` where there is no git."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise UsageError("git is not installed", help="install git, or leave out what asks for a revision") from None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def commit_of(revision: str, folder: Path) -> str:
    """The commit that a revision names. Raises `UsageError` outside a repository and for one that is not there."""
    if git(folder, "rev-parse", "--git-dir") is None:
        raise UsageError(f"{folder.absolute()} is in no git repository", help="run it where matrix.yaml is tracked")
    commit = (
        None if revision.startswith("-") else git(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    )
    if commit is None:
        help = "give a commit, branch or tag that was fetched (a shallow clone has few)"
        raise UsageError(f"git knows no revision '{revision}'", help=help)
    return commit.strip()


class Revision:
    """The files below a folder as they stood in a commit: a `fatwheel.declaration.tree.Tree`."""

    def __init__(self, folder: Path, commit: str) -> None:
        self._folder = folder
        self._commit = commit

    def _kind(self, path: str) -> str:
        return (git(self._folder, "cat-file", "-t", f"{self._commit}:./{path}") or "").strip()

    def is_file(self, path: str) -> bool:
        """Whether there was such a file."""
        return self._kind(path) == "blob"

    def is_folder(self, path: str) -> bool:
        """Whether there was such a folder."""
        return path in ("", ".", "./") or self._kind(path.rstrip("/")) == "tree"

    def read(self, path: str) -> str:
        """The text of a file. Raises `UsageError` if there was none."""
        text = git(self._folder, "show", f"{self._commit}:./{path}")
        if text is None:
            raise UsageError(f"there was no {path} in {self._commit[:12]}", help="give a revision that has it")
        return text


def load_at(revision: str, path: Path) -> Declaration:
    """The declaration that stood in ``path`` at a revision.

    Raises `UsageError` for a revision that is not there, has no such file, or one that today's rules refuse.
    """
    folder = path.parent
    tree = Revision(folder, commit_of(revision, folder))
    text = tree.read(path.name)
    try:
        return parse(text, path, tree)
    except DeclarationError as error:
        raise UsageError(f"{path.name} of {revision} does not hold by today's rules:\n{error}") from None
