"""The end of a release: its manifest and sums, a last look at everything, and publishing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.records.plan import Plan
from pipeline.records.release import AssetRecord
from pipeline.release.closing import LARGEST_MANIFEST, manifest, read_manifest, sums
from pipeline.release.delivery import Delivery, Surroundings
from pipeline.release.drafts import Counter
from pipeline.release.policy import GENERATED, MANIFEST
from pipeline.release.sources import Given
from pipeline.stores.failure import StoreFailure
from pipeline.stores.remote import RemoteAsset


@dataclass(frozen=True)
class Ending:
    """What the last steps of one release need."""

    around: Surroundings
    counter: Counter
    commit: str | None
    plan: Plan | None

    def close(self, records: Mapping[str, AssetRecord], given: Sequence[Given]) -> tuple[list[AssetRecord], list[str]]:
        """Send the manifest and the sums, if anything is live: their outcomes, and notes."""
        breaker = self.around.breaker
        if breaker.opened.is_set() or not any(record.live for record in records.values()):
            reason = breaker.reason or "nothing else is live"
            return [AssetRecord(name=name, outcome="not-sent", reason=reason) for name in GENERATED], []
        done: list[AssetRecord] = []
        notes: list[str] = []
        ours = {r.name: r.sha256 for r in records.values() if r.live and r.sha256}
        try:
            now = self._listing(ours)
            if strangers := sorted(set(now) - set(records) - set(GENERATED)):
                shown = ", ".join(strangers[:5]) + (" ..." if len(strangers) > 5 else "")
                notes.append(f"{len(strangers)} more in the release, which this run did not ask for: {shown}")
            earlier = None
            there = now.get(MANIFEST)
            if there is not None and there.whole and there.size <= LARGEST_MANIFEST:
                data = self.counter.patience().retrying()(lambda: b"".join(self.around.store.read(there)))
                earlier = read_manifest(data)
                if earlier is None:
                    notes.append(f"the {MANIFEST} that was there is none of fatwheel's; it is replaced")
            whole = manifest(
                tag=self.around.release.tag,
                commit=self.commit,
                plan=self.plan,
                given={one.name: one for one in given},
                live=tuple(now.values()),
                absent=[record for record in records.values() if not record.live],
                earlier=earlier,
            )
            done.append(Delivery(whole, self.around).run(now))
            now = self._listing(ours)
            done.append(Delivery(sums(tuple(now.values())), self.around).run(now))
        except StoreFailure as failure:
            settled = {record.name for record in done}
            done += [
                AssetRecord(name=name, outcome="not-sent", reason=failure.what)
                for name in GENERATED
                if name not in settled
            ]
        return done, notes

    def _listing(self, ours: Mapping[str, str]) -> dict[str, RemoteAsset]:
        """What is there, with every digest: the store's, else what this run has verified, else from reading."""
        known = {}
        for name, asset in self.counter.patience().retrying()(self.around.listing).items():
            if asset.digest is None and asset.whole:
                digest = f"sha256:{ours[name]}" if name in ours else self.around.remote_digest(asset)
                known[name] = replace(asset, digest=digest)
            else:
                known[name] = asset
        return known

    def publish(self, records: Mapping[str, AssetRecord], *, whole: bool, notes: str | None) -> str | None:
        """Publish the draft; why not, if it is not to be or cannot be."""
        lacking = [record.name for record in records.values() if not record.live]
        if whole and lacking:
            return f"{len(lacking)} wanted assets are not live, and it is published only whole"
        if self.around.breaker.opened.is_set():
            return self.around.breaker.reason
        if any(name in lacking for name in GENERATED):
            return "its manifest and sums are not live"
        try:
            if wrong := self._verify(records):
                return "; ".join(wrong)
            self.counter.publish(self.around.release, commit=self.commit, notes=notes)
        except StoreFailure as failure:
            return failure.what
        return None

    def _verify(self, records: Mapping[str, AssetRecord]) -> list[str]:
        """What a fresh listing says against the outcomes. Half-uploads of names that nobody wants are cleared."""
        listing = self.counter.patience().retrying()(self.around.listing)
        wrong = []
        for record in records.values():
            if not record.live or record.size is None:
                continue
            asset = listing.get(record.name)
            if asset is None or not asset.whole or asset.size != record.size:
                wrong.append(f"{record.name} is not there as it was sent")
            elif record.sha256 and asset.digest not in {None, f"sha256:{record.sha256}"}:
                wrong.append(f"{record.name} has other bytes than were sent")
        for asset in listing.values():
            known = records.get(asset.name)
            if not asset.whole and not (known and known.live):
                self.around.pacer.acquire()
                self.counter.patience().retrying()(self.around.store.delete, self.around.release, asset)
        return wrong
