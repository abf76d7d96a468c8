"""Build the index of one or more stores, and write it to a folder or push it to a branch."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fatwheel.errors import ReleaseRefused, UsageError
from fatwheel.formatting import count_of
from fatwheel.index import make_index
from fatwheel.pipelines.retention import expired_ids
from fatwheel.pipelines.stores import open_stores
from fatwheel.records.index import IndexReport
from fatwheel.release.retention import RetentionPolicy
from fatwheel.stores.github.store import is_repository
from fatwheel.stores.github.tokens import token_for
from fatwheel.stores.store_errors import StoreFailure
from fatwheel.workflows.branch import Branch, push, remote_url


@dataclass(frozen=True)
class IndexBranch:
    """A folder in a branch of a repository (OWNER/REPO)."""

    repository: str
    branch: str
    folder: str


@dataclass(frozen=True)
class Delivered:
    """The report of the index, the stores it describes, and where it was written."""

    report: IndexReport
    store: str
    where: str


def deliver(
    specs: Sequence[str],
    destination: Path | IndexBranch,
    *,
    base_url: str | None,
    replace: Sequence[str],
    retire: RetentionPolicy | None,
) -> Delivered:
    """Index the stores, without the releases that ``retire`` expires, at the destination.

    Raises `UsageError` for an invalid store or repository, and `ReleaseRefused` if a store cannot be read or the branch
    cannot be pushed; then nothing is delivered.
    """
    if isinstance(destination, IndexBranch) and not is_repository(destination.repository):
        raise UsageError(f"invalid repository '{destination.repository}'", where="--to", help="write OWNER/REPO")
    store = open_stores(specs)
    reports: list[IndexReport] = []

    def write(folder: Path, *, among_files: bool = False) -> None:
        reports.append(make_index(store, folder, base_url, replace=replace, among_files=among_files))

    try:
        if retire:
            store = store.without(expired_ids(store, retire))
        if isinstance(destination, Path):
            write(destination)
            where = str(destination)
        else:
            where = _push(destination, ", ".join(specs), lambda folder: write(folder, among_files=True))
    except StoreFailure as failure:
        raise ReleaseRefused(failure.what, where=store.spec, help=failure.help) from failure
    return Delivered(reports[-1], store.spec, where)


def _push(to: IndexBranch, source: str, write: Callable[[Path], None]) -> str:
    """Push the index and return the repository, branch and commit."""
    place = Branch(remote_url(to.repository, os.environ), to.branch, to.folder, token_for(to.repository, os.environ))
    done = push(place, write, f"Index of {source}", environ=os.environ)
    again = f", after {count_of(done.races, 'retry', 'retries')} (concurrent pushes)" if done.races else ""
    return f"{to.repository} {to.branch} {done.commit[:12]}{'' if done.changed else ' (no changes)'}{again}"
