"""Selects the files to upload and hashes them; each wheel brings its METADATA as a second asset."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fatwheel.digests import Digest, file_digest
from fatwheel.records.files import METADATA
from fatwheel.records.release import AssetRecord, HashedFile
from fatwheel.release.execute import FileJob
from fatwheel.release.manifest_assets import expected_asset
from fatwheel.release.policy import contradicted, withheld
from fatwheel.release.reconcile import ExpectedAsset
from fatwheel.release.request import ProgressListener, ReleaseRequest
from fatwheel.release.sources import Given
from fatwheel.stores.remote import Rules


@dataclass(frozen=True)
class AssetSelection:
    """The given files: those that may be uploaded, and the records of those that are withheld."""

    accepted: tuple[Given, ...]
    refused: tuple[AssetRecord, ...]


def select_assets(given: Sequence[Given], request: ReleaseRequest, rules: Rules) -> AssetSelection:
    """Check the files without reading their contents."""
    limit = limit_of(request, rules)
    accepted, refused = [], []
    for one in given:
        if reason := withheld(one, limit, rules, request.plan):
            refused.append(AssetRecord(name=one.name, outcome="withheld", size=one.size, reason=reason))
        else:
            accepted.append(one)
    return AssetSelection(tuple(accepted), tuple(refused))


def asset_names(sorted_out: AssetSelection, request: ReleaseRequest) -> tuple[str, ...]:
    """The names of all assets to upload, except the generated ones (manifest and checksums)."""
    names = [one.name for one in sorted_out.accepted]
    if request.metadata:
        names += [one.name + METADATA for one in sorted_out.accepted if one.metadata is not None]
    return tuple(names)


def hash_all(
    sorted_out: AssetSelection, request: ReleaseRequest, progress: ProgressListener
) -> tuple[tuple[FileJob, ...], tuple[AssetRecord, ...]]:
    """Hash the files, two at a time; withhold those whose digest differs from their records.

    Digests of an earlier run are reused if a file's size and modification time are unchanged.
    """
    known = {(f.path, f.size, f.mtime_ns): f.sha256 for f in request.hashed}

    def digest(one: Given) -> Digest | OSError:
        path = str(one.path.absolute())
        sha256 = known.get((path, one.size, one.mtime_ns))
        try:
            sha256 = sha256 or file_digest(one.path)
        except OSError as error:
            return error
        progress.hashed(HashedFile(path=path, size=one.size, mtime_ns=one.mtime_ns, sha256=sha256))
        return sha256

    jobs: list[FileJob] = []
    refused: list[AssetRecord] = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        for one, sha256 in zip(sorted_out.accepted, pool.map(digest, sorted_out.accepted), strict=True):
            reason = f"it cannot be read: {sha256}" if isinstance(sha256, OSError) else contradicted(one, sha256)
            if isinstance(sha256, OSError) or reason:
                refused.append(AssetRecord(name=one.name, outcome="withheld", size=one.size, reason=reason or ""))
                continue
            jobs.append(file_job(one, sha256, metadata=request.metadata))
    return tuple(jobs), tuple(refused)


def file_job(one: Given, sha256: Digest, *, metadata: bool) -> FileJob:
    """The upload job of one file: the asset, followed by the METADATA of a wheel."""
    wanted = ExpectedAsset(one.name, one.size, sha256, one.member or one.path, one.mtime_ns)
    if metadata and one.metadata is not None:
        return FileJob((wanted, expected_asset(one.name + METADATA, one.metadata)))
    return FileJob((wanted,))


def limit_of(request: ReleaseRequest, rules: Rules) -> int:
    """The size in bytes from which files are withheld. matrix.yaml may lower a store's hard limit, not raise it."""
    asked = request.size_limit or (request.plan.size_limit if request.plan else rules.size_limit)
    return min(asked, rules.size_limit) if rules.hard else asked
