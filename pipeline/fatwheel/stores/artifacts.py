"""The artifacts of a workflow run, such as wheels that were built on other machines."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fatwheel.digests import Digest
from fatwheel.errors import UsageError
from fatwheel.stores.store_errors import FailureKind, StoreFailure

if TYPE_CHECKING:
    from fatwheel.stores.github.requests import Requests


@dataclass(frozen=True)
class RunArtifact:
    """One workflow artifact. ``size``: stored bytes. ``digest``: None on older servers."""

    id: str
    name: str
    size: int
    expired: bool = False
    digest: Digest | None = None


class WorkflowRun:
    """The artifacts of one run. All methods raise `StoreFailure`."""

    def __init__(self, repository: str, run: str, requests: Requests) -> None:
        self.repository = repository
        self.run = run
        self.requests = requests

    @property
    def spec(self) -> str:
        """``run:OWNER/REPO/ID``."""
        return f"run:{self.repository}/{self.run}"

    def commit(self) -> str:
        """Return the SHA of the commit that the run was started for."""
        return str(self.requests.document(f"repos/{self.repository}/actions/runs/{self.run}").get("head_sha"))

    def artifacts(self) -> tuple[RunArtifact, ...]:
        """Return all artifacts by name; of several with the same name, the newest."""
        path = f"repos/{self.repository}/actions/runs/{self.run}/artifacts"
        newest: dict[str, RunArtifact] = {}
        try:
            entries = list(self.requests.pages(path, key="artifacts"))
        except StoreFailure as failure:
            if failure.kind is not FailureKind.GONE:
                raise
            help = "check the ID of the run, and that the token has the `actions: read` permission"
            raise StoreFailure(
                f"{self.spec}: no such run, or the token cannot read it", FailureKind.RELEASE, help=help
            ) from failure
        for entry in entries:
            one = _parse_artifact(entry)
            if one.name not in newest or int(newest[one.name].id) < int(one.id):
                newest[one.name] = one
        return tuple(newest[name] for name in sorted(newest))

    def download(self, artifact: RunArtifact, path: Path) -> None:
        """Write an artifact to ``path`` and check its digest. No file remains after a failure."""
        free = os.statvfs(path.parent)
        room = free.f_bavail * free.f_frsize
        if room < artifact.size:
            raise StoreFailure(
                f"{artifact.name}: {artifact.size:,} bytes needed, {room:,} free in {path.parent}",
                FailureKind.ASSET,
            )
        try:
            self._receive(artifact, path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def _receive(self, artifact: RunArtifact, path: Path) -> None:
        digest = hashlib.sha256()
        with path.open("wb") as file:
            for chunk in self.requests.stream(f"repos/{self.repository}/actions/artifacts/{artifact.id}/zip"):
                digest.update(chunk)
                file.write(chunk)
        if artifact.digest not in {None, digest.hexdigest()}:
            raise StoreFailure(
                f"{artifact.name}: the downloaded content does not match its digest", FailureKind.TRANSIENT
            )


def _parse_artifact(row: dict[str, Any]) -> RunArtifact:
    try:
        digest = Digest.from_api(row.get("digest"))
        return RunArtifact(
            str(int(row["id"])), str(row["name"]), int(row["size_in_bytes"]), bool(row["expired"]), digest
        )
    except (KeyError, TypeError, ValueError):
        raise StoreFailure("the server returned an invalid artifact", FailureKind.AMBIGUOUS) from None


def open_run(spec: str, environment: Mapping[str, str], repository: str | None) -> WorkflowRun:
    """Open ``run:ID`` of the current repository, or ``run:OWNER/REPO/ID``. Raises `UsageError`."""
    from fatwheel.stores.github import open_github

    match = re.fullmatch(r"run:(?:([^/]+/[^/]+)/)?(\d+)", spec)
    if not match:
        raise UsageError(f"invalid workflow run {spec!r}", where="--from", help="use run:ID or run:OWNER/REPO/ID")
    owner = match[1] or environment.get("GITHUB_REPOSITORY") or repository
    if not owner:
        raise UsageError("no repository given for the workflow run", where="--from", help="use run:OWNER/REPO/ID")
    return WorkflowRun(owner, match[2], open_github(owner, environment).requests)
