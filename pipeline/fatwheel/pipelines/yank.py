"""Edit an index where it is: in a folder, or on a branch of a repository."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from fatwheel.errors import UsageError
from fatwheel.records.index import YankReport
from fatwheel.stores.github.tokens import token_for
from fatwheel.workflows.branch import Branch, push, remote_url


def edit_index(
    edit: Callable[[Path], YankReport], folder: Path | None, repository: str | None, branch: str, inside: str
) -> YankReport:
    """Run ``edit`` on the index in ``folder``, or in the folder ``inside`` of a branch of ``repository``.

    Raises `UsageError` unless exactly one of the two is given, and `ReleaseRefused` if the branch cannot be pushed.
    """
    if (folder is None) == (repository is None):
        raise UsageError("no index given", help="give --index DIR or --to OWNER/REPO")
    if folder is not None:
        return edit(folder)
    name = str(repository)
    reports: list[YankReport] = []
    place = Branch(remote_url(name, os.environ), branch, inside, token_for(name, os.environ))
    push(place, lambda here: reports.append(edit(here)), "Index: yanked files", environ=os.environ)
    return reports[-1]
