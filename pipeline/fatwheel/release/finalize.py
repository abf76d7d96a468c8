"""The end of a release: manifest and checksums, final verification, and publishing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fatwheel.digests import Digest
from fatwheel.formatting import count_of
from fatwheel.records.files import MANIFEST, MAX_RECORD_BYTES
from fatwheel.records.manifest import Manifest
from fatwheel.records.plan import Plan
from fatwheel.records.release import AssetRecord
from fatwheel.release.drafts import ReleaseRequests
from fatwheel.release.manifest_assets import expected_asset, make_manifest, make_sums, read_manifest
from fatwheel.release.notes import has_page, merge_notes
from fatwheel.release.policy import GENERATED
from fatwheel.release.show import list_names
from fatwheel.release.sources import InputFile
from fatwheel.release.upload import AssetUpload, UploadContext
from fatwheel.stores.remote import RemoteAsset
from fatwheel.stores.store_errors import StoreFailure


@dataclass
class FinalAssets:
    """The outcomes of the final assets, notes, and the manifest, if it was made."""

    records: list[AssetRecord] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    manifest: Manifest | None = None


@dataclass(frozen=True)
class Finalizer:
    """The last steps of one release."""

    context: UploadContext
    requests: ReleaseRequests
    commit: str | None
    plan: Plan | None

    def close(self, records: Mapping[str, AssetRecord], given: Sequence[InputFile]) -> FinalAssets:
        """Upload the manifest and the checksums if the release has any asset."""
        breaker = self.context.breaker
        final = FinalAssets()
        if breaker.opened.is_set() or not any(record.live for record in records.values()):
            return self._without(final, breaker.reason or "no asset was uploaded")
        ours = {r.name: r.sha256 for r in records.values() if r.live and r.sha256}
        try:
            now = self._listing(ours)
            if others := sorted(set(now) - set(records) - set(GENERATED)):
                count = count_of(len(others), "other asset")
                final.notes.append(f"{count} in the release: {list_names(others)}")
            earlier = None
            there = now.get(MANIFEST)
            if there is not None and there.whole and there.size <= MAX_RECORD_BYTES:
                data = self.requests.call(lambda: b"".join(self.context.store.read(there)))
                earlier = read_manifest(data)
                if earlier is None:
                    final.notes.append(f"replaced a {MANIFEST} that fatwheel did not write")
            final.manifest = make_manifest(
                tag=self.context.release.tag,
                commit=self.commit,
                plan=self.plan,
                given={one.name: one for one in given},
                live=tuple(now.values()),
                absent=[record for record in records.values() if not record.live],
                earlier=earlier,
            )
            whole = expected_asset(MANIFEST, final.manifest.to_json().encode())
            final.records.append(AssetUpload(whole, self.context).run(now))
            now = self._listing(ours)
            final.records.append(AssetUpload(make_sums(tuple(now.values())), self.context).run(now))
        except StoreFailure as failure:
            return self._without(final, failure.what)
        return final

    def _without(self, final: FinalAssets, reason: str) -> FinalAssets:
        settled = {record.name for record in final.records}
        left = [name for name in GENERATED if name not in settled]
        final.records += [AssetRecord(name=name, outcome="not-sent", reason=reason) for name in left]
        return final

    def _listing(self, ours: Mapping[str, Digest]) -> dict[str, RemoteAsset]:
        """List the assets with digests: from the store, else verified by this run, else by reading them."""
        known = {}
        for name, asset in self.requests.call(self.context.listing).items():
            if asset.digest is None and asset.whole:
                digest = ours[name] if name in ours else self.context.remote_digest(asset)
                known[name] = replace(asset, digest=digest)
            else:
                known[name] = asset
        return known

    def publish(self, records: Mapping[str, AssetRecord], *, whole: bool, page: str | None) -> str | None:
        """Publish the draft. Returns why it was not published, or None."""
        release = self.context.release
        missing = [record.name for record in records.values() if not record.settled]
        if whole and missing:
            count = "1 expected asset is" if len(missing) == 1 else f"{len(missing)} expected assets are"
            return f"{count} missing, and the channel requires complete releases"
        if self.context.breaker.opened.is_set():
            return self.context.breaker.reason
        if any(name in missing for name in GENERATED):
            return "the manifest or the checksums were not uploaded"
        try:
            if wrong := self._verify(records):
                return "; ".join(wrong)
            if self.commit:  # the tag may have been created for another commit during the uploads
                self.requests.call(self.context.store.check, release.tag, self.commit)
            notes = None if page is None else merge_notes(release.notes, page)
            self.requests.publish(release, commit=self.commit, notes=notes)
        except StoreFailure as failure:
            return failure.what
        return None

    def describe(self, page: str) -> str | None:
        """Update the page of a published release if fatwheel wrote it. Returns an error message or None."""
        release = self.context.release
        notes = merge_notes(release.notes, page)
        if (
            not has_page(release.notes)
            or notes.split() == release.notes.split()
            or self.context.breaker.opened.is_set()
        ):
            return None
        self.context.pacer.acquire()
        try:
            self.requests.call(self.context.store.describe, release, notes)
        except StoreFailure as failure:
            return f"the release page could not be updated: {failure.what}"
        return None

    def _verify(self, records: Mapping[str, AssetRecord]) -> list[str]:
        """Compare a new listing with the outcomes. Returns the errors.

        Partial uploads of unexpected names are deleted, as are assets that this run created under a wrong name.
        """
        listing = self.requests.call(self.context.listing)
        wrong = []
        for record in records.values():
            if not record.live or record.size is None:
                continue
            asset = listing.get(record.name)
            if asset is None or not asset.whole or asset.size != record.size:
                wrong.append(f"{record.name} is missing or incomplete")
            elif record.sha256 and asset.digest not in {None, record.sha256}:
                wrong.append(f"{record.name} differs from what was sent")
        for asset in listing.values():
            known = records.get(asset.name)
            if asset.id in self.context.astray or (not asset.whole and not (known and known.live)):
                self.context.pacer.acquire()
                self.requests.call(self.context.store.delete, self.context.release, asset)
        return wrong
