"""Load matrix.yaml and the files around it from a Git revision."""

from __future__ import annotations

import subprocess
from pathlib import Path

from fatwheel.declaration import Declaration, parse
from fatwheel.errors import DeclarationError, UsageError


def git(folder: Path, *arguments: str) -> str | None:
    """The output of a Git command; None if it fails. Raises `UsageError` if Git is not installed."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise UsageError("git is not installed", help="install git, or omit the options that need a revision") from None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def commit_of(revision: str, folder: Path) -> str:
    """The commit of a revision. Raises `UsageError` outside a Git repository and for an unknown revision."""
    if git(folder, "rev-parse", "--git-dir") is None:
        raise UsageError(
            f"not a Git repository: {folder.absolute()}", help="run the command where matrix.yaml is tracked"
        )
    commit = (
        None if revision.startswith("-") else git(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    )
    if commit is None:
        help = "pass a commit, branch or tag that was fetched; a shallow clone has few"
        raise UsageError(f"unknown Git revision '{revision}'", help=help)
    return commit.strip()


class Revision:
    """The files below a folder in a commit; implements `fatwheel.declaration.tree.Tree`."""

    def __init__(self, folder: Path, commit: str) -> None:
        self._folder = folder
        self._commit = commit

    def _kind(self, path: str) -> str:
        return (git(self._folder, "cat-file", "-t", f"{self._commit}:./{path}") or "").strip()

    def is_file(self, path: str) -> bool:
        """Whether the file exists in the commit."""
        return self._kind(path) == "blob"

    def is_folder(self, path: str) -> bool:
        """Whether the folder exists in the commit."""
        return path in ("", ".", "./") or self._kind(path.rstrip("/")) == "tree"

    def read(self, path: str) -> str:
        """The text of a file. Raises `UsageError` if the commit does not contain it."""
        text = git(self._folder, "show", f"{self._commit}:./{path}")
        if text is None:
            raise UsageError(
                f"commit {self._commit[:12]} does not contain {path}", help="pass a revision that contains it"
            )
        return text


def load_at(revision: str, path: Path) -> Declaration:
    """Load ``path`` from a revision.

    Raises `UsageError` for an unknown revision, a missing file, and a file that this version rejects.
    """
    folder = path.parent
    tree = Revision(folder, commit_of(revision, folder))
    text = tree.read(path.name)
    try:
        return parse(text, path, tree)
    except DeclarationError as error:
        raise UsageError(f"{path.name} of {revision} is invalid for this version of fatwheel:\n{error}") from None
