"""Select and hash the files of a release, and add the METADATA of each wheel."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fatwheel.digests import Digest, file_digest
from fatwheel.records.files import METADATA
from fatwheel.records.release import AssetRecord, HashedFile
from fatwheel.release.execute import FileTask
from fatwheel.release.manifest_assets import expected_asset
from fatwheel.release.policy import find_digest_mismatch, find_withhold_reason
from fatwheel.release.reconcile import ExpectedAsset
from fatwheel.release.request import ProgressListener, ReleaseRequest
from fatwheel.release.sources import InputFile
from fatwheel.stores.remote import Rules


@dataclass(frozen=True)
class AssetSelection:
    """The files to upload, and the records of those that are withheld."""

    accepted: tuple[InputFile, ...]
    refused: tuple[AssetRecord, ...]


def select_assets(given: Sequence[InputFile], request: ReleaseRequest, rules: Rules) -> AssetSelection:
    """Select the files that may be uploaded, by everything that is known without reading them."""
    limit = get_size_limit(request, rules)
    accepted, refused = [], []
    for one in given:
        if reason := find_withhold_reason(one, limit, rules, request.plan):
            refused.append(AssetRecord(name=one.name, outcome="withheld", size=one.size, reason=reason))
        else:
            accepted.append(one)
    return AssetSelection(tuple(accepted), tuple(refused))


def list_asset_names(sorted_out: AssetSelection, request: ReleaseRequest) -> tuple[str, ...]:
    """Return the names of all assets to upload, except for the manifest and the checksums."""
    names = [one.name for one in sorted_out.accepted]
    if request.metadata:
        names += [one.name + METADATA for one in sorted_out.accepted if one.metadata is not None]
    return tuple(names)


def hash_files(
    sorted_out: AssetSelection, request: ReleaseRequest, progress: ProgressListener
) -> tuple[tuple[FileTask, ...], tuple[AssetRecord, ...]]:
    """Hash the files, two at a time. Files whose digest differs from their records are withheld.

    A digest of an earlier run is reused if the size and modification time of the file have not changed.
    """
    known = {(f.path, f.size, f.mtime_ns): f.sha256 for f in request.hashed}

    def digest(one: InputFile) -> Digest | OSError:
        path = str(one.path.absolute())
        sha256 = known.get((path, one.size, one.mtime_ns))
        try:
            sha256 = sha256 or file_digest(one.path)
        except OSError as error:
            return error
        progress.hashed(HashedFile(path=path, size=one.size, mtime_ns=one.mtime_ns, sha256=sha256))
        return sha256

    jobs: list[FileTask] = []
    refused: list[AssetRecord] = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        for one, sha256 in zip(sorted_out.accepted, pool.map(digest, sorted_out.accepted), strict=True):
            reason = (
                f"cannot read: {sha256.strerror or sha256}"
                if isinstance(sha256, OSError)
                else find_digest_mismatch(one, sha256)
            )
            if isinstance(sha256, OSError) or reason:
                refused.append(AssetRecord(name=one.name, outcome="withheld", size=one.size, reason=reason or ""))
                continue
            jobs.append(make_file_task(one, sha256, metadata=request.metadata))
    return tuple(jobs), tuple(refused)


def make_file_task(one: InputFile, sha256: Digest, *, metadata: bool) -> FileTask:
    """Make the upload task of one file: its asset and, for a wheel, its METADATA."""
    wanted = ExpectedAsset(one.name, one.size, sha256, one.member or one.path, one.mtime_ns)
    if metadata and one.metadata is not None:
        return FileTask((wanted, expected_asset(one.name + METADATA, one.metadata)))
    return FileTask((wanted,))


def get_size_limit(request: ReleaseRequest, rules: Rules) -> int:
    """Return the size limit in bytes. Files of this size or larger are withheld.

    matrix.yaml can lower the limit of a store but not raise a hard one.
    """
    asked = request.size_limit or (request.plan.size_limit if request.plan else rules.size_limit)
    return min(asked, rules.size_limit) if rules.hard else asked
