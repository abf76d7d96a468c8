"""Runs a release, from its preflight checks to publishing it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from fatwheel.errors import PipelineError, ReleaseRefused, UsageError
from fatwheel.records.release import AssetRecord, ReleaseRecord
from fatwheel.release.asset_selection import AssetSelection, asset_names, hash_all, limit_of, select_assets
from fatwheel.release.drafts import Opening, ReleaseRequests, choose, same_commit
from fatwheel.release.dry_run import dry_run, missing_assets
from fatwheel.release.execute import Job, execute
from fatwheel.release.fallback import FallbackProgress, moved, part
from fatwheel.release.finalize import Finalizer
from fatwheel.release.notes import merged, release_notes
from fatwheel.release.policy import GENERATED, name_problems
from fatwheel.release.rate_limit import BURSTS, RateLimiter
from fatwheel.release.request import NullProgress, ProgressListener, ReleaseRequest
from fatwheel.release.run_artifacts import ArtifactContext, planned_names
from fatwheel.release.sources import Given, gather
from fatwheel.release.upload import CircuitBreaker, UploadContext
from fatwheel.stores.clock import Clock
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
    """Upload the files to the release of a tag, and publish it if its policy allows.

    The record has one outcome for each expected asset. Raises `UsageError` or `ReleaseRefused`, with all reasons at
    once, before anything is uploaded; later failures are in the record.
    """
    given = preflight(request.files) if request.files or not request.run else ()
    unknown = sorted(request.replace - {one.name for one in given})
    if unknown and not request.run:
        raise UsageError(f"{', '.join(unknown)}: to be replaced, and not among the files", where="--replace")
    return Run(store, request, policy or RetryPolicy(), clock or Clock(), progress or NullProgress()).run(given)


def preflight(files: Sequence[Path]) -> tuple[Given, ...]:
    """Check the files and their names. Raises `UsageError` or `ReleaseRefused` with all errors."""
    given, problems = gather(files)
    names = name_problems(given)
    if problems:
        raise UsageError("\n".join([*problems, *names]), help="fix the list of files; nothing was uploaded")
    if names:
        raise ReleaseRefused("\n".join(names), help="rename or omit the files; nothing was uploaded")
    if not given:
        raise UsageError("no files to release", help="name wheels, or a folder that holds some")
    return given


class Run:
    """The state of a release while it runs."""

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
        self.counter = ReleaseRequests(store, policy, clock, self.breaker.opened, self.pacer, notify=progress.say)
        self.records: dict[str, AssetRecord] = {}
        self.notes: list[str] = []
        self._diverting = threading.Lock()

    def run(self, given: Sequence[Given]) -> ReleaseRecord:
        """See `release`."""
        request = self.request
        parts = select_assets(given, request, self.rules)
        large = [one.path for one in given if one.size >= limit_of(request, self.rules)]
        if large and request.over == "fail":
            names = ", ".join(path.name for path in large)
            raise ReleaseRefused(
                f"{names}: over the limit of {limit_of(request, self.rules):,} bytes", where=self.store.spec
            )
        for record in parts.refused:
            self._settle(record)
        try:
            self.notes += self.counter.call(self.store.check, request.tag, request.commit)
            found, notes = choose(self._candidates(), request.commit)
            self.notes += notes
            present = self.counter.call(self.store.assets, found) if found else ()
            self._count(parts, present)
            intake = self._intake(given)
            taken: tuple[Job, ...] = intake.open() if intake else ()
        except StoreFailure as failure:
            raise self._refusal(failure) from failure
        hashed, refused = hash_all(parts, request, self.progress)
        for record in refused:
            self._settle(record)
        if intake:
            intake.seen.update({job.name: ("the files given", job.assets[0].sha256) for job in hashed})
        self._tell_of(parts)
        for record in self._diverted(large, [self.records[path.name] for path in large]):
            self._settle(record)
        jobs = (*hashed, *taken)
        if request.dry_run or (found is not None and found.immutable):
            return self._compare(found, present, jobs)
        if found is None and not jobs and any(record.elsewhere for record in self.records.values()):
            self.notes.append(f"all of it is too large for {self.store.spec}: no release was made there")
            self._absent({})
            return self._record(published=False)
        release, made = self._open(found, jobs)
        return self._carry_out(release, made, jobs, given, intake)

    def _candidates(self) -> tuple[RemoteRelease, ...]:
        found = self.counter.find(self.request.tag)
        if found or self.request.release_id is None:
            return found
        known = self.counter.call(self.store.by_id, self.request.release_id)
        return (known,) if known and known.tag == self.request.tag else ()

    def _intake(self, given: Sequence[Given]) -> ArtifactContext | None:
        if self.request.run is None:
            return None
        intake = ArtifactContext(
            self.request.run, self.request, self.rules, self.counter.call, self._diverted, notes=self.notes
        )
        intake.seen.update({one.name: ("the files given", None) for one in given})
        return intake

    def _tell_of(self, parts: AssetSelection) -> None:
        """Add notes on wheels without metadata, placeholder wheels and partial wheels."""
        bare = [one.name for one in parts.accepted if one.is_wheel and one.metadata is None]
        if bare and self.request.metadata:
            self.notes.append(f"no METADATA could be read from {', '.join(bare)}: sent without .metadata beside it")

        for one in parts.accepted:
            if one.build and one.build.placeholder:
                self.notes.append(f"{one.name} is a placeholder wheel without code")
            elif one.build and one.build.slice is not None:
                self.notes.append(f"{one.name} is a partial wheel with only {', '.join(one.build.slice)}")

    def _diverted(self, files: Sequence[Path], records: Sequence[AssetRecord]) -> list[AssetRecord]:
        """Release files over the size limit to the fallback store, if there is one."""
        store = self.request.elsewhere
        if store is None or not files:
            return list(records)
        there: ReleaseRecord | PipelineError
        with self._diverting:
            try:
                asked = part(self.request, files, store)
                there = release(
                    store, asked, policy=self.policy, clock=self.clock, progress=FallbackProgress(self.progress)
                )
            except (ReleaseRefused, UsageError) as refusal:
                there = refusal
        return [moved(record, there, store) for record in records]

    def _open(self, found: RemoteRelease | None, jobs: Sequence[Job]) -> tuple[RemoteRelease, bool]:
        if found is not None:
            self.progress.opened(found.id)
            return found, False
        if not jobs:
            raise ReleaseRefused(
                "\n".join(["nothing to send", *(f"{r.name}: {r.reason}" for r in self.records.values())]),
                where=self.store.spec,
            )
        request = self.request
        page = release_notes(request.tag, (), self._lacking())
        try:
            release, made, said = self.counter.obtain(
                Opening(request.tag, request.commit, request.tag, merged("", page), request.prerelease)
            )
        except StoreFailure as failure:
            raise self._refusal(failure) from failure
        self.notes += said
        self.progress.opened(release.id)
        return release, made

    def _carry_out(
        self,
        release: RemoteRelease,
        made: bool,
        jobs: Sequence[Job],
        given: Sequence[Given],
        intake: ArtifactContext | None,
    ) -> ReleaseRecord:
        request, around = self.request, self._surroundings(release, made)
        try:
            snapshot = {a.name: a for a in self.counter.call(self.store.assets, release)}
        except StoreFailure as failure:
            raise self._refusal(failure) from failure
        execute(jobs, around, snapshot, self._settle)
        given = (*given, *intake.given) if intake else given
        self._absent(snapshot)
        ending = Finalizer(around, self.counter, request.commit, request.plan)
        closing = ending.close(self.records, given)
        self.notes += closing.notes
        for record in closing.records:
            self._settle(record)
        published = not release.draft
        page = None
        if closing.manifest:  # it includes earlier runs
            page = release_notes(request.tag, closing.manifest.assets, closing.manifest.absent)
        if published and page and (problem := ending.describe(page)):
            self.notes.append(problem)
        if release.draft and not request.draft:
            why_not = ending.publish(self.records, whole=request.whole, page=page)
            published = why_not is None
            if why_not is not None:
                self.notes.append(f"not published: {why_not}")
        return self._record(published)

    def _compare(
        self, found: RemoteRelease | None, present: Sequence[RemoteAsset], jobs: Sequence[Job]
    ) -> ReleaseRecord:
        """Report without changing anything: for a dry run, and for an immutable release."""
        immutable = found is not None and found.immutable
        around = self._surroundings(found or RemoteRelease("", self.request.tag, draft=True), made=found is None)
        by_name = {asset.name: asset for asset in present}
        for record in dry_run(jobs, around, by_name, "the release is immutable" if immutable else "dry run"):
            self._settle(record)
        self._absent(by_name)
        if self.request.dry_run:
            self.notes.append("dry run: nothing was sent")
        lacking = any(not record.settled for record in self.records.values())
        refused = "the release is immutable; nothing was sent" if immutable and lacking else None
        return self._record(published=bool(found and not found.draft), refused=refused)

    def _surroundings(self, release: RemoteRelease, made: bool) -> UploadContext:
        ours = made or same_commit(release, self.request.commit)
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
        """Raise `ReleaseRefused` for too many assets; one is reserved for replacing an asset."""
        names = {asset.name for asset in present} | set(asset_names(parts, self.request)) | set(GENERATED)
        if self.request.run:
            names |= set(planned_names(self.request))
        limit = self.rules.asset_limit
        if len(names) + 1 > limit:
            raise ReleaseRefused(
                f"{len(names)} assets including existing ones, and one more while one is replaced: "
                f"a release may have {limit:,}",
                where=self.store.spec,
                help="release fewer files, without metadata (--no-metadata), or prune the release",
            )

    def _absent(self, present: Mapping[str, RemoteAsset]) -> None:
        cells = self.request.plan.cells if self.request.plan else []
        for record in missing_assets([cell.wheel for cell in cells if cell.wheel not in self.records], present):
            self._settle(record)

    def _lacking(self) -> list[AssetRecord]:
        return [record for record in self.records.values() if not record.live]

    def _refusal(self, failure: StoreFailure) -> ReleaseRefused:
        return ReleaseRefused(failure.what, where=self.store.spec, help=failure.help)

    def _settle(self, record: AssetRecord) -> None:
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
