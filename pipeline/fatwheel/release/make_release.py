"""Make a release: preflight, uploads, final assets and publishing."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from fatwheel.clock import Clock
from fatwheel.errors import PipelineError, ReleaseRefused, UsageError
from fatwheel.records.release import AssetRecord, ReleaseRecord
from fatwheel.release.asset_selection import AssetSelection, get_size_limit, hash_files, list_asset_names, select_assets
from fatwheel.release.drafts import Opening, ReleaseRequests, is_same_commit, select_release
from fatwheel.release.dry_run import dry_run, missing_assets
from fatwheel.release.execute import UploadTask, execute
from fatwheel.release.fallback import FallbackProgress, add_fallback_result, narrow_request
from fatwheel.release.finalize import Finalizer
from fatwheel.release.notes import merge_notes, release_notes
from fatwheel.release.policy import GENERATED, find_name_errors
from fatwheel.release.rate_limit import BURSTS, RateLimiter
from fatwheel.release.request import NullProgress, ProgressListener, ReleaseRequest
from fatwheel.release.run_artifacts import ArtifactContext, list_planned_names
from fatwheel.release.sources import InputFile, collect_files
from fatwheel.release.upload import CircuitBreaker, UploadContext
from fatwheel.stores.remote import RemoteAsset, RemoteRelease, Store
from fatwheel.stores.retry import RetryPolicy
from fatwheel.stores.store_errors import StoreFailure


def release(
    store: Store,
    request: ReleaseRequest,
    *,
    policy: RetryPolicy | None = None,
    clock: Clock | None = None,
    progress: ProgressListener | None = None,
) -> ReleaseRecord:
    """Upload files to the release of a tag, and publish it if its policy allows.

    The record has one outcome for each expected asset. Raises `UsageError` or `ReleaseRefused`, with all reasons,
    before anything is sent. Later errors are in the record.
    """
    given = preflight(request.files) if request.files or not request.run else ()
    unknown = sorted(request.replace - {one.name for one in given})
    if unknown and not request.run:
        raise UsageError(f"{', '.join(unknown)}: not among the files", where="--replace")
    return Run(store, request, policy or RetryPolicy(), clock or Clock(), progress or NullProgress()).run(given)


def preflight(files: Sequence[Path]) -> tuple[InputFile, ...]:
    """Check the files and their names. Raises `UsageError` or `ReleaseRefused` with all errors."""
    given, problems = collect_files(files)
    names = find_name_errors(given)
    if problems:
        raise UsageError("\n".join([*problems, *names]), help="nothing was uploaded; fix the list of files")
    if names:
        raise ReleaseRefused("\n".join(names), help="nothing was uploaded; rename or remove these files")
    if not given:
        raise UsageError("no files to release", help="pass wheels, or a folder that contains some")
    return given


class Run:
    """One run of a release."""

    def __init__(
        self, store: Store, request: ReleaseRequest, policy: RetryPolicy, clock: Clock, progress: ProgressListener
    ) -> None:
        self.store = store
        self.request = request
        self.policy = policy
        self.clock = clock
        self.progress = progress
        self.breaker = CircuitBreaker()
        self.rules = store.rules()
        self.pacer = RateLimiter(clock, self.breaker.opened, BURSTS if self.rules.paced else (), progress.say)
        self.requests = ReleaseRequests(store, policy, clock, self.breaker.opened, self.pacer, notify=progress.say)
        self.records: dict[str, AssetRecord] = {}
        self.notes: list[str] = []
        self._fallback_lock = threading.Lock()

    def run(self, given: Sequence[InputFile]) -> ReleaseRecord:
        """See `release`."""
        request = self.request
        parts = select_assets(given, request, self.rules)
        large = [one.path for one in given if one.size >= get_size_limit(request, self.rules)]
        if large and request.over == "fail":
            names = ", ".join(path.name for path in large)
            raise ReleaseRefused(
                f"{names}: not under the limit of {get_size_limit(request, self.rules):,} bytes", where=self.store.spec
            )
        for record in parts.refused:
            self._record_outcome(record)
        try:
            self.notes += self.requests.call(self.store.check, request.tag, request.commit)
            found, notes = select_release(self._candidates(), request.commit)
            self.notes += notes
            present = self.requests.call(self.store.assets, found) if found else ()
            self._count(parts, present)
            artifacts = self._open_run(given)
            taken: tuple[UploadTask, ...] = artifacts.open() if artifacts else ()
        except StoreFailure as failure:
            raise self._refusal(failure) from failure
        hashed, refused = hash_files(parts, request, self.progress)
        for record in refused:
            self._record_outcome(record)
        if artifacts:
            artifacts.seen.update({job.name: ("the files given", job.assets[0].sha256) for job in hashed})
        self._note_incomplete(parts)
        for record in self._send_to_fallback(large, [self.records[path.name] for path in large]):
            self._record_outcome(record)
        jobs = (*hashed, *taken)
        if request.dry_run or (found is not None and found.immutable):
            return self._compare(found, present, jobs)
        if found is None and not jobs and any(record.elsewhere for record in self.records.values()):
            self.notes.append(f"all files are too large for {self.store.spec}; no release was created there")
            self._record_missing({})
            return self._record(published=False)
        release, made = self._open(found, jobs)
        return self._upload(release, made, jobs, given, artifacts)

    def _candidates(self) -> tuple[RemoteRelease, ...]:
        found = self.requests.find(self.request.tag)
        if found or self.request.release_id is None:
            return found
        known = self.requests.call(self.store.by_id, self.request.release_id)
        return (known,) if known and known.tag == self.request.tag else ()

    def _open_run(self, given: Sequence[InputFile]) -> ArtifactContext | None:
        if self.request.run is None:
            return None
        artifacts = ArtifactContext(
            self.request.run, self.request, self.rules, self.requests.call, self._send_to_fallback, notes=self.notes
        )
        artifacts.seen.update({one.name: ("the files given", None) for one in given})
        return artifacts

    def _note_incomplete(self, parts: AssetSelection) -> None:
        """Add notes about files that are not complete wheels with metadata."""
        bare = [one.name for one in parts.accepted if one.is_wheel and one.metadata is None]
        if bare and self.request.metadata:
            self.notes.append(f"cannot read METADATA of {', '.join(bare)}: uploaded without a .metadata asset")

        for one in parts.accepted:
            if one.build and one.build.placeholder:
                self.notes.append(f"{one.name} is a placeholder wheel, without code")
            elif one.build and one.build.slice is not None:
                self.notes.append(f"{one.name} is a partial wheel with only {', '.join(one.build.slice)}")

    def _send_to_fallback(self, files: Sequence[Path], records: Sequence[AssetRecord]) -> list[AssetRecord]:
        """Upload files that were withheld for their size to the fallback store, if there is one."""
        store = self.request.elsewhere
        if store is None or not files:
            return list(records)
        there: ReleaseRecord | PipelineError
        with self._fallback_lock:
            try:
                asked = narrow_request(self.request, files, store)
                there = release(
                    store, asked, policy=self.policy, clock=self.clock, progress=FallbackProgress(self.progress)
                )
            except (ReleaseRefused, UsageError) as refusal:
                there = refusal
        return [add_fallback_result(record, there, store) for record in records]

    def _open(self, found: RemoteRelease | None, jobs: Sequence[UploadTask]) -> tuple[RemoteRelease, bool]:
        if found is not None:
            self.progress.opened(found.id)
            return found, False
        if not jobs:
            raise ReleaseRefused(
                "\n".join(["nothing to upload", *(f"{r.name}: {r.reason}" for r in self.records.values())]),
                where=self.store.spec,
            )
        request = self.request
        page = release_notes(request.tag, (), self._missing_records())
        try:
            release, made, notes = self.requests.obtain(
                Opening(request.tag, request.commit, request.tag, merge_notes("", page), request.prerelease)
            )
        except StoreFailure as failure:
            raise self._refusal(failure) from failure
        self.notes += notes
        self.progress.opened(release.id)
        return release, made

    def _upload(
        self,
        release: RemoteRelease,
        made: bool,
        jobs: Sequence[UploadTask],
        given: Sequence[InputFile],
        artifacts: ArtifactContext | None,
    ) -> ReleaseRecord:
        request, context = self.request, self._context(release, made)
        try:
            snapshot = {a.name: a for a in self.requests.call(self.store.assets, release)}
        except StoreFailure as failure:
            raise self._refusal(failure) from failure
        execute(jobs, context, snapshot, self._record_outcome)
        given = (*given, *artifacts.given) if artifacts else given
        self._record_missing(snapshot)
        ending = Finalizer(context, self.requests, request.commit, request.plan)
        final = ending.close(self.records, given)
        self.notes += final.notes
        for record in final.records:
            self._record_outcome(record)
        published = not release.draft
        page = None
        if final.manifest:  # it covers earlier runs too
            page = release_notes(request.tag, final.manifest.assets, final.manifest.absent)
        if published and page and (problem := ending.describe(page)):
            self.notes.append(problem)
        if release.draft and not request.draft:
            why_not = ending.publish(self.records, whole=request.whole, page=page)
            published = why_not is None
            if why_not is not None:
                self.notes.append(f"not published: {why_not}")
        return self._record(published)

    def _compare(
        self, found: RemoteRelease | None, present: Sequence[RemoteAsset], jobs: Sequence[UploadTask]
    ) -> ReleaseRecord:
        """Compare without changing anything, for a dry run or an immutable release."""
        immutable = found is not None and found.immutable
        context = self._context(found or RemoteRelease("", self.request.tag, draft=True), made=found is None)
        by_name = {asset.name: asset for asset in present}
        for record in dry_run(jobs, context, by_name, "the release is immutable" if immutable else "dry run"):
            self._record_outcome(record)
        self._record_missing(by_name)
        if self.request.dry_run:
            self.notes.append("dry run: nothing was uploaded")
        missing = any(not record.settled for record in self.records.values())
        refused = "the release is immutable; nothing was uploaded" if immutable and missing else None
        return self._record(published=bool(found and not found.draft), refused=refused)

    def _context(self, release: RemoteRelease, made: bool) -> UploadContext:
        ours = made or is_same_commit(release, self.request.commit)
        replaceable = self.request.replace | frozenset(GENERATED)
        return UploadContext(
            self.store,
            release,
            self.pacer,
            self.policy,
            self.clock,
            self.breaker,
            lambda asset: ours or asset.name in replaceable,
            watch=self.progress.sent,
            notify=self.progress.say,
        )

    def _count(self, parts: AssetSelection, present: Sequence[RemoteAsset]) -> None:
        """Raise `ReleaseRefused` if the release would have too many assets; one is reserved for replacements."""
        names = {asset.name for asset in present} | set(list_asset_names(parts, self.request)) | set(GENERATED)
        if self.request.run:
            names |= set(list_planned_names(self.request))
        limit = self.rules.asset_limit
        if len(names) + 1 > limit:
            raise ReleaseRefused(
                f"{len(names):,} assets, including existing ones, plus one for replacements; the limit is {limit:,}",
                where=self.store.spec,
                help="release fewer files, or use --no-metadata",
            )

    def _record_missing(self, present: Mapping[str, RemoteAsset]) -> None:
        cells = self.request.plan.cells if self.request.plan else []
        for record in missing_assets([cell.wheel for cell in cells if cell.wheel not in self.records], present):
            self._record_outcome(record)

    def _missing_records(self) -> list[AssetRecord]:
        return [record for record in self.records.values() if not record.live]

    def _refusal(self, failure: StoreFailure) -> ReleaseRefused:
        return ReleaseRefused(failure.what, where=self.store.spec, help=failure.help)

    def _record_outcome(self, record: AssetRecord) -> None:
        self.records[record.name] = record
        self.progress.settled(record)

    def _record(self, published: bool, refused: str | None = None) -> ReleaseRecord:
        return ReleaseRecord(
            tag=self.request.tag,
            store=self.store.spec,
            published=published,
            commit=self.request.commit,
            assets=sorted(self.records.values(), key=lambda r: (r.name in GENERATED, r.name)),
            notes=self.notes,
            refused=refused,
        )
