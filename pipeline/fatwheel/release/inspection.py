"""Compare a release with its plan and manifest, and publish a draft."""

from __future__ import annotations

from dataclasses import dataclass

from fatwheel.clock import Clock
from fatwheel.digests import Digest
from fatwheel.errors import ReleaseRefused
from fatwheel.formatting import count_of
from fatwheel.records.files import MANIFEST, MAX_RECORD_BYTES
from fatwheel.records.manifest import Manifest
from fatwheel.records.plan import Plan
from fatwheel.records.release import AssetRecord, ReleaseRecord
from fatwheel.release.drafts import ReleaseRequests, select_release
from fatwheel.release.finalize import Finalizer
from fatwheel.release.manifest_assets import read_manifest
from fatwheel.release.notes import release_notes
from fatwheel.release.policy import GENERATED
from fatwheel.release.rate_limit import BURSTS, RateLimiter
from fatwheel.release.show import list_names
from fatwheel.release.upload import CircuitBreaker, UploadContext
from fatwheel.stores.remote import RemoteAsset, RemoteRelease, Store
from fatwheel.stores.retry import RetryPolicy
from fatwheel.stores.store_errors import StoreFailure


@dataclass(frozen=True)
class ReleaseStatus:
    """The state of a release. ``release`` is None if the tag has no release."""

    record: ReleaseRecord
    release: RemoteRelease | None
    manifest: Manifest | None
    plan: Plan | None


class Inspector:
    """Inspects releases of one store. Only ``publish`` changes anything."""

    def __init__(self, store: Store, *, policy: RetryPolicy | None = None, clock: Clock | None = None) -> None:
        self.store = store
        self.policy = policy or RetryPolicy()
        self.clock = clock or Clock()
        self.breaker = CircuitBreaker()
        self.pacer = RateLimiter(self.clock, self.breaker.opened, BURSTS if store.rules().paced else ())
        self.requests = ReleaseRequests(store, self.policy, self.clock, self.breaker.opened, self.pacer)

    def look(self, tag: str, plan: Plan | None = None) -> ReleaseStatus:
        """Compare the assets of a release with the digests in its manifest and the wheels of the plan.

        Without a plan, that of the manifest is used. Raises `ReleaseRefused` if the store cannot be read.
        """
        try:
            return self._look(tag, plan)
        except StoreFailure as failure:
            raise ReleaseRefused(failure.what, where=self.store.spec, help=failure.help) from failure

    def publish(self, tag: str, plan: Plan | None = None, *, partial: bool = False) -> ReleaseRecord:
        """Publish a draft if all assets match its manifest and, if the plan requires it, none is missing.

        A published release is not changed.
        """
        found = self.look(tag, plan)
        release, record = found.release, found.record
        if release is None:
            raise ReleaseRefused(f"no draft of {tag} found", where=self.store.spec, help="release its wheels first")
        if not release.draft:
            return record.model_copy(update={"notes": [*record.notes, "already published"]})
        wrong = [asset.name for asset in record.assets if asset.outcome in {"conflict", "failed"}]
        why_not: str | None = f"{', '.join(wrong)}: differs from the manifest" if wrong else None
        if why_not is None:
            context = self._context(release)
            commit = found.manifest.commit if found.manifest else None
            missing = [asset for asset in record.assets if not asset.live]
            page = release_notes(tag, found.manifest.assets, missing) if found.manifest else None
            ending = Finalizer(context, self.requests, commit, found.plan)
            whole = found.plan is not None and found.plan.completeness == "complete" and not partial
            why_not = ending.publish({asset.name: asset for asset in record.assets}, whole=whole, page=page)
        notes = [*record.notes, *([f"not published: {why_not}"] if why_not else [])]
        return record.model_copy(update={"published": why_not is None, "notes": notes})

    def _look(self, tag: str, plan: Plan | None) -> ReleaseStatus:
        release, notes = select_release(self.requests.find(tag), None)
        present: dict[str, RemoteAsset] = {}
        manifest = None
        if release is None:
            notes = (*notes, f"no release of {tag} found")
        else:
            context = self._context(release)
            present = self.requests.call(context.listing)
            there = present.get(MANIFEST)
            if there is not None and there.whole and there.size <= MAX_RECORD_BYTES:
                manifest = read_manifest(self.requests.call(lambda: b"".join(self.store.read(there))))
            if manifest is None:
                notes = (*notes, f"no {MANIFEST} found; digests were not compared")
        plan = plan or (manifest.plan if manifest else None)
        records = self._records(present, manifest, plan, release)
        foreign = sorted(set(present) - {record.name for record in records})
        if foreign:
            notes = (*notes, f"{count_of(len(foreign), 'other asset')}: {list_names(foreign)}")
        record = ReleaseRecord(
            tag=tag,
            store=self.store.spec,
            published=release is not None and not release.draft,
            commit=manifest.commit if manifest else None,
            assets=records,
            notes=list(notes),
        )
        return ReleaseStatus(record, release, manifest, plan)

    def _records(
        self,
        present: dict[str, RemoteAsset],
        manifest: Manifest | None,
        plan: Plan | None,
        release: RemoteRelease | None,
    ) -> list[AssetRecord]:
        digests = {asset.name: asset.sha256 for asset in manifest.assets} if manifest else {}
        gaps = {gap.name: gap for gap in manifest.absent} if manifest else {}
        names = {*digests, *gaps, *(cell.wheel for cell in (plan.cells if plan else []))}
        records = []
        for name in sorted(names):
            asset, gap = present.get(name), gaps.get(name)
            if asset is None and gap is not None and gap.elsewhere:
                records.append(AssetRecord(name=name, outcome="withheld", reason=gap.reason, elsewhere=gap.elsewhere))
            elif asset is None:
                reason = "not in the release"
                if gap:  # the reason recorded by the release
                    reason = gap.reason if gap.outcome == "missing" else f"{gap.outcome}: {gap.reason}"
                records.append(AssetRecord(name=name, outcome="missing", reason=reason))
            else:
                records.append(self._compare_asset(asset, digests.get(name), release))
        for name in GENERATED:
            if name in present:
                records.append(self._compare_asset(present[name], None, release))
            elif manifest or plan:
                records.append(AssetRecord(name=name, outcome="missing", reason="not in the release"))
        return records

    def _compare_asset(self, asset: RemoteAsset, sha256: Digest | None, release: RemoteRelease | None) -> AssetRecord:
        known = asset.digest
        if asset.whole and sha256 and known is None and release:
            known = self._context(release).remote_digest(asset)
        if not asset.whole:
            return AssetRecord(name=asset.name, outcome="failed", size=asset.size, reason="partially uploaded")
        if sha256 and known != sha256:
            reason = "differs from the manifest"
            return AssetRecord(name=asset.name, outcome="conflict", size=asset.size, sha256=known, reason=reason)
        return AssetRecord(name=asset.name, outcome="identical", size=asset.size, sha256=known)

    def _context(self, release: RemoteRelease) -> UploadContext:
        return UploadContext(
            self.store, release, self.pacer, self.policy, self.clock, self.breaker, lambda _asset: False
        )
