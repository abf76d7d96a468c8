"""Completes a release: uploads its manifest and checksums, verifies all assets, and publishes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fatwheel.digests import Digest
from fatwheel.records.files import MANIFEST, MAX_RECORD_BYTES
from fatwheel.records.manifest import Manifest
from fatwheel.records.plan import Plan
from fatwheel.records.release import AssetRecord
from fatwheel.release.drafts import ReleaseRequests
from fatwheel.release.manifest_assets import expected_asset, manifest, read_manifest, sums
from fatwheel.release.notes import has_page, merged
from fatwheel.release.policy import GENERATED
from fatwheel.release.sources import Given
from fatwheel.release.upload import AssetUpload, UploadContext
from fatwheel.stores.remote import RemoteAsset
from fatwheel.stores.store_errors import StoreFailure


@dataclass
class FinalAssets:
    """The result of uploading the generated assets: records, notes, and the manifest, if one was written."""

    records: list[AssetRecord] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    manifest: Manifest | None = None


@dataclass(frozen=True)
class Finalizer:
    """The last steps of one release."""

    around: UploadContext
    counter: ReleaseRequests
    commit: str | None
    plan: Plan | None

    def close(self, records: Mapping[str, AssetRecord], given: Sequence[Given]) -> FinalAssets:
        """Upload the manifest and the checksums, if any asset is in the release."""
        breaker = self.around.breaker
        closing = FinalAssets()
        if breaker.opened.is_set() or not any(record.live for record in records.values()):
            return self._without(closing, breaker.reason or "no other asset was uploaded")
        ours = {r.name: r.sha256 for r in records.values() if r.live and r.sha256}
        try:
            now = self._listing(ours)
            if strangers := sorted(set(now) - set(records) - set(GENERATED)):
                shown = ", ".join(strangers[:5]) + (" ..." if len(strangers) > 5 else "")
                closing.notes.append(f"{len(strangers)} more in the release, which this run did not ask for: {shown}")
            earlier = None
            there = now.get(MANIFEST)
            if there is not None and there.whole and there.size <= MAX_RECORD_BYTES:
                data = self.counter.call(lambda: b"".join(self.around.store.read(there)))
                earlier = read_manifest(data)
                if earlier is None:
                    closing.notes.append(f"the {MANIFEST} of the release was not written by fatwheel; it is replaced")
            closing.manifest = manifest(
                tag=self.around.release.tag,
                commit=self.commit,
                plan=self.plan,
                given={one.name: one for one in given},
                live=tuple(now.values()),
                absent=[record for record in records.values() if not record.live],
                earlier=earlier,
            )
            whole = expected_asset(MANIFEST, closing.manifest.to_json().encode())
            closing.records.append(AssetUpload(whole, self.around).run(now))
            now = self._listing(ours)
            closing.records.append(AssetUpload(sums(tuple(now.values())), self.around).run(now))
        except StoreFailure as failure:
            return self._without(closing, failure.what)
        return closing

    def _without(self, closing: FinalAssets, reason: str) -> FinalAssets:
        settled = {record.name for record in closing.records}
        left = [name for name in GENERATED if name not in settled]
        closing.records += [AssetRecord(name=name, outcome="not-sent", reason=reason) for name in left]
        return closing

    def _listing(self, ours: Mapping[str, Digest]) -> dict[str, RemoteAsset]:
        """The assets by name, with digests: from the store, else verified by this run, else computed by downloading."""
        known = {}
        for name, asset in self.counter.call(self.around.listing).items():
            if asset.digest is None and asset.whole:
                digest = ours[name] if name in ours else self.around.remote_digest(asset)
                known[name] = replace(asset, digest=digest)
            else:
                known[name] = asset
        return known

    def publish(self, records: Mapping[str, AssetRecord], *, whole: bool, page: str | None) -> str | None:
        """Publish the draft. Returns the reason if it was not published."""
        release = self.around.release
        lacking = [record.name for record in records.values() if not record.settled]
        if whole and lacking:
            count = "1 expected asset is" if len(lacking) == 1 else f"{len(lacking)} expected assets are"
            return f"{count} missing, and the release must be complete"
        if self.around.breaker.opened.is_set():
            return self.around.breaker.reason
        if any(name in lacking for name in GENERATED):
            return "its manifest and checksums were not uploaded"
        try:
            if wrong := self._verify(records):
                return "; ".join(wrong)
            if self.commit:  # the tag may have been created at another commit during the uploads
                self.counter.call(self.around.store.check, release.tag, self.commit)
            notes = None if page is None else merged(release.notes, page)
            self.counter.publish(release, commit=self.commit, notes=notes)
        except StoreFailure as failure:
            return failure.what
        return None

    def describe(self, page: str) -> str | None:
        """Update the notes of a published release if fatwheel wrote them. Returns the reason if that failed."""
        release = self.around.release
        notes = merged(release.notes, page)
        if not has_page(release.notes) or notes.split() == release.notes.split() or self.around.breaker.opened.is_set():
            return None
        self.around.pacer.acquire()
        try:
            self.counter.call(self.around.store.describe, release, notes)
        except StoreFailure as failure:
            return f"cannot update the release notes: {failure.what}"
        return None

    def _verify(self, records: Mapping[str, AssetRecord]) -> list[str]:
        """Compare a fresh listing with the outcomes, and return the differences.

        Deletes incomplete uploads of other names, and assets of this run that the server renamed.
        """
        listing = self.counter.call(self.around.listing)
        wrong = []
        for record in records.values():
            if not record.live or record.size is None:
                continue
            asset = listing.get(record.name)
            if asset is None or not asset.whole or asset.size != record.size:
                wrong.append(f"{record.name} is missing or incomplete")
            elif record.sha256 and asset.digest not in {None, record.sha256}:
                wrong.append(f"{record.name} has other bytes than were sent")
        for asset in listing.values():
            known = records.get(asset.name)
            if asset.id in self.around.astray or (not asset.whole and not (known and known.live)):
                self.around.pacer.acquire()
                self.counter.call(self.around.store.delete, self.around.release, asset)
        return wrong
