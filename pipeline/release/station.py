"""A release from its first look to its publishing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pipeline.errors import ReleaseRefused, UsageError
from pipeline.records.release import AssetRecord, ReleaseRecord
from pipeline.release.closing import LARGEST_MANIFEST, manifest, read_manifest, sums
from pipeline.release.delivery import Breaker, Delivery, Surroundings
from pipeline.release.drafts import Counter, Opening, choose, same_commit
from pipeline.release.execute import Job, execute
from pipeline.release.notes import release_notes
from pipeline.release.pace import BURSTS, Pacer
from pipeline.release.policy import GENERATED, MANIFEST, name_problems
from pipeline.release.reconcile import Action, State, Wanted
from pipeline.release.request import Progress, ReleaseRequest, Silence
from pipeline.release.sources import Given, gather
from pipeline.release.wanted import Sorted, asset_names, hash_all, sort_out
from pipeline.stores.clock import Clock
from pipeline.stores.failure import StoreFailure
from pipeline.stores.patience import Policy
from pipeline.stores.remote import RemoteAsset, RemoteRelease, Store


def release(
    store: Store,
    request: ReleaseRequest,
    *,
    policy: Policy | None = None,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> ReleaseRecord:
    """Bring the files into the release of a tag, and publish it if its policy allows.

    The record has one outcome for each wanted asset. Raises `UsageError` or `ReleaseRefused`, with all reasons at
    once, before anything is sent; what happens after that is in the record.
    """
    given = preflight(request.files)
    return Run(store, request, policy or Policy(), clock or Clock(), progress or Silence()).run(given)


def preflight(files: Sequence[Path]) -> tuple[Given, ...]:
    """Look at the files and their names. Raises `UsageError` or `ReleaseRefused` with everything that is wrong."""
    given, problems = gather(files)
    names = name_problems(given)
    if problems:
        raise UsageError("\n".join([*problems, *names]), remedy="nothing was sent; mend the list of files")
    if names:
        raise ReleaseRefused("\n".join(names), remedy="nothing was sent; rename the files or leave them out")
    if not given:
        raise UsageError("no files to release", remedy="name wheels, or a folder that holds some")
    return given


class Run:
    """One release in the making."""

    def __init__(self, store: Store, request: ReleaseRequest, policy: Policy, clock: Clock, progress: Progress) -> None:
        self.store = store
        self.request = request
        self.policy = policy
        self.clock = clock
        self.progress = progress
        self.breaker = Breaker()
        self.rules = store.rules()
        self.pacer = Pacer(clock, self.breaker.opened, BURSTS if self.rules.paced else ())
        self.counter = Counter(store, policy, clock, self.breaker.opened, self.pacer)
        self.records: dict[str, AssetRecord] = {}
        self.notes: list[str] = []

    def run(self, given: Sequence[Given]) -> ReleaseRecord:
        """See `release`."""
        request = self.request
        parts = sort_out(given, request, self.rules)
        for record in parts.refused:
            self._settle(record)
        try:
            self.notes += self.counter.patience().retrying()(self.store.check, request.tag, request.commit)
            found, notes = choose(self.counter.find(request.tag), request.commit)
            self.notes += notes
            present = self.counter.patience().retrying()(self.store.assets, found) if found else ()
        except StoreFailure as failure:
            raise ReleaseRefused(failure.what, where=self.store.spec, remedy=failure.remedy) from failure
        self._count(parts, present)
        jobs, refused = hash_all(parts, request, self.progress)
        for record in refused:
            self._settle(record)
        if request.dry_run:
            return self._rehearse(found, present, jobs, parts)
        if found is not None and found.immutable:
            return self._compare(found, present, jobs, parts)
        release, made = self._open(found, parts, given)
        return self._carry_out(release, made, jobs, parts, given)

    def _open(self, found: RemoteRelease | None, parts: Sorted, given: Sequence[Given]) -> tuple[RemoteRelease, bool]:
        if found is not None:
            self.progress.opened(found.id)
            return found, False
        if not parts.accepted:
            raise ReleaseRefused(
                "\n".join(["nothing to send", *(f"{r.name}: {r.reason}" for r in self.records.values())]),
                where=self.store.spec,
            )
        request = self.request
        notes = release_notes(request.tag, given, tuple(self.records.values()))
        try:
            release, made, said = self.counter.obtain(
                Opening(request.tag, request.commit, request.tag, notes, request.prerelease)
            )
        except StoreFailure as failure:
            raise ReleaseRefused(failure.what, where=self.store.spec, remedy=failure.remedy) from failure
        self.notes += said
        self.progress.opened(release.id)
        return release, made

    def _carry_out(
        self, release: RemoteRelease, made: bool, jobs: Sequence[Job], parts: Sorted, given: Sequence[Given]
    ) -> ReleaseRecord:
        around = self._surroundings(release, made)
        try:
            snapshot = {a.name: a for a in self.counter.patience().retrying()(self.store.assets, release)}
        except StoreFailure as failure:
            raise ReleaseRefused(failure.what, where=self.store.spec, remedy=failure.remedy) from failure
        execute(jobs, around, snapshot, self._settle)
        self._absent(parts, snapshot)
        self._close(around, given)
        published = not release.draft
        if release.draft and not self.request.draft:
            published = self._publish(around, release, given)
        return self._record(published)

    def _surroundings(self, release: RemoteRelease, made: bool) -> Surroundings:
        ours = made or same_commit(release, self.request.commit)
        replaceable = self.request.replace | frozenset(GENERATED)
        return Surroundings(
            self.store,
            release,
            self.pacer,
            self.policy,
            self.clock,
            self.breaker,
            lambda asset: ours or asset.name in replaceable,
            watch=self.progress.sent,
        )

    def _count(self, parts: Sorted, present: Sequence[RemoteAsset]) -> None:
        """Refuse what would be more assets than a release may have; one place is kept for a swap."""
        names = {asset.name for asset in present} | set(asset_names(parts, self.request)) | set(GENERATED)
        limit = self.rules.asset_limit
        if len(names) + 1 > limit:
            raise ReleaseRefused(
                f"{len(names)} assets with what is there already, and one more while one is replaced: "
                f"a release may have {limit:,}",
                where=self.store.spec,
                remedy="release fewer files, without metadata (--no-metadata), or prune the release",
            )

    def _absent(self, parts: Sorted, snapshot: dict[str, RemoteAsset]) -> None:
        """Planned wheels that did not come: live from an earlier run, or missing."""
        for name in parts.missing:
            there = snapshot.get(name)
            if there is not None and there.whole:
                reason = "from an earlier run"
                self._settle(AssetRecord(name=name, outcome="identical", size=there.size, reason=reason))
            else:
                self._settle(AssetRecord(name=name, outcome="missing", reason="planned, and no such wheel was given"))

    def _close(self, around: Surroundings, given: Sequence[Given]) -> None:
        """Send the manifest and the sums, if anything is live."""
        if self.breaker.opened.is_set() or not any(r.live for r in self.records.values()):
            reason = self.breaker.reason or "nothing else is live"
            for name in GENERATED:
                self._settle(AssetRecord(name=name, outcome="not-sent", reason=reason))
            return
        try:
            now = self._known_listing(around)
            wanted = self._manifest(around, now, given)
            self._settle(Delivery(wanted, around).run(now))
            now = self._known_listing(around)
            self._settle(Delivery(sums(tuple(now.values())), around).run(now))
        except StoreFailure as failure:
            for name in GENERATED:
                if name not in self.records:
                    self._settle(AssetRecord(name=name, outcome="not-sent", reason=failure.what))

    def _known_listing(self, around: Surroundings) -> dict[str, RemoteAsset]:
        """What is there, with every digest that it takes to name it."""
        listing = self.counter.patience().retrying()(around.listing)
        ours = {r.name: r.sha256 for r in self.records.values() if r.live and r.sha256}
        known = {}
        for name, asset in listing.items():
            if asset.digest is None and asset.whole and name not in GENERATED:
                digest = f"sha256:{ours[name]}" if name in ours else around.remote_digest(asset)
                known[name] = replace(asset, digest=digest)
            elif asset.digest is None and asset.whole:
                known[name] = replace(asset, digest=around.remote_digest(asset))
            else:
                known[name] = asset
        return known

    def _manifest(self, around: Surroundings, now: dict[str, RemoteAsset], given: Sequence[Given]) -> Wanted:
        earlier = None
        there = now.get(MANIFEST)
        if there is not None and there.whole and there.size <= LARGEST_MANIFEST:
            data = self.counter.patience().retrying()(lambda: b"".join(around.store.read(there)))
            earlier = read_manifest(data)
            if earlier is None:
                self.notes.append(f"the {MANIFEST} that was there is none of fatwheel's; it is replaced")
        return manifest(
            tag=self.request.tag,
            commit=self.request.commit,
            plan=self.request.plan,
            given={one.name: one for one in given},
            live=tuple(now.values()),
            absent=[record for record in self.records.values() if not record.live],
            earlier=earlier,
        )

    def _publish(self, around: Surroundings, release: RemoteRelease, given: Sequence[Given]) -> bool:
        """Publish a draft if its policy is met and a last look finds every live asset as it should be."""
        lacking = [r.name for r in self.records.values() if not r.live]
        if self.request.whole and lacking:
            self.notes.append(
                f"not published: {len(lacking)} wanted assets are not live, and it is published only whole"
            )
            return False
        if self.breaker.opened.is_set():
            self.notes.append(f"not published: {self.breaker.reason}")
            return False
        if any(name in lacking for name in GENERATED):
            self.notes.append("not published: its manifest and sums are not live")
            return False
        try:
            if wrong := self._verify(around):
                self.notes.append(f"not published: {'; '.join(wrong)}")
                return False
            notes = release_notes(self.request.tag, given, tuple(self.records.values()))
            self.counter.publish(release, commit=self.request.commit, notes=notes)
        except StoreFailure as failure:
            self.notes.append(f"not published: {failure.what}")
            return False
        return True

    def _verify(self, around: Surroundings) -> list[str]:
        """What a fresh listing says against the outcomes. Half-uploads of names that nobody wants are cleared."""
        listing = self.counter.patience().retrying()(around.listing)
        wrong = []
        for record in self.records.values():
            if not record.live or record.size is None:
                continue
            asset = listing.get(record.name)
            if asset is None or not asset.whole or asset.size != record.size:
                wrong.append(f"{record.name} is not there as it was sent")
            elif record.sha256 and asset.digest not in {None, f"sha256:{record.sha256}"}:
                wrong.append(f"{record.name} has other bytes than were sent")
        for asset in listing.values():
            record_of = self.records.get(asset.name)
            if not asset.whole and not (record_of and record_of.live):
                around.pacer.acquire()
                self.counter.patience().retrying()(self.store.delete, around.release, asset)
        return wrong

    def _compare(
        self, release: RemoteRelease, present: Sequence[RemoteAsset], jobs: Sequence[Job], parts: Sorted
    ) -> ReleaseRecord:
        """An immutable release: all that is wanted is there, or nothing can be done."""
        around = self._surroundings(release, made=False)
        by_name = {asset.name: asset for asset in present}
        for wanted in (one for job in jobs for one in job):
            state = around.step(wanted, by_name).state
            outcome = {State.IDENTICAL: "identical", State.DIFFERENT: "conflict"}.get(state, "not-sent")
            reason = "" if outcome == "identical" else "the release is immutable"
            self._settle(
                AssetRecord.model_validate(
                    {"name": wanted.name, "outcome": outcome, "size": wanted.size, "sha256": wanted.sha256}
                    | {"reason": reason}
                )
            )
        self._absent(parts, by_name)
        lacking = any(not record.live for record in self.records.values())
        return self._record(published=True, refused="the release is immutable; nothing was sent" if lacking else None)

    def _rehearse(
        self, found: RemoteRelease | None, present: Sequence[RemoteAsset], jobs: Sequence[Job], parts: Sorted
    ) -> ReleaseRecord:
        """What would be done, with nothing sent."""
        around = self._surroundings(found or RemoteRelease("", self.request.tag, draft=True), made=found is None)
        by_name = {asset.name: asset for asset in present}
        for wanted in (one for job in jobs for one in job):
            now = around.step(wanted, by_name)
            facts = {"name": wanted.name, "size": wanted.size, "sha256": wanted.sha256}
            if now.action is Action.KEEP:
                facts["outcome"] = "identical"
            elif now.action is Action.CONFLICT:
                facts |= {"outcome": "conflict", "reason": "the release holds other bytes by this name"}
            else:
                facts |= {"outcome": "not-sent", "reason": f"dry run: {now.state.value}; would {now.action.value}"}
            self._settle(AssetRecord.model_validate(facts))
        self._absent(parts, by_name)
        self.notes.append("dry run: nothing was sent")
        return self._record(published=bool(found and not found.draft))

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
