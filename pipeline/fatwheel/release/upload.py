"""Uploads one asset: compare, act, verify, and retry until it is in the release or has failed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from fatwheel.digests import Digest
from fatwheel.records.release import AssetOutcome, AssetRecord
from fatwheel.release.rate_limit import RateLimiter
from fatwheel.release.reconcile import Action, ExpectedAsset, PlannedAction, step
from fatwheel.stores.body import Body
from fatwheel.stores.clock import Clock
from fatwheel.stores.remote import RemoteAsset, RemoteRelease, Store
from fatwheel.stores.retry import Retrier, RetryPolicy, exceeds_longest_wait
from fatwheel.stores.store_errors import FailureKind, StoreFailure

LARGE = 64 << 20
"""Bytes. Below this size, uploading again is faster than waiting for an incomplete upload to finish."""
FEW = 2  # looks for the small ones


class CircuitBreaker:
    """Opens when the store rejects the release itself; nothing is uploaded after that."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.answered = threading.Event()  # the first upload has had a response
        self.reason = ""

    def open(self, reason: str) -> None:
        """Stop all uploads. The first reason is kept."""
        if not self.opened.is_set():
            self.reason = reason
            self.opened.set()
        self.answered.set()


@dataclass(frozen=True)
class UploadContext:
    """What all uploads of one release share."""

    store: Store
    release: RemoteRelease
    pacer: RateLimiter
    policy: RetryPolicy
    clock: Clock
    breaker: CircuitBreaker
    may_replace: Callable[[RemoteAsset], bool]
    digests: dict[str, Digest] = field(default_factory=dict)  # by asset id, where the store's listing has none
    astray: dict[str, RemoteAsset] = field(default_factory=dict)  # by id: created by this run, renamed by the server
    watch: Callable[[str, int, int], None] = lambda _name, _sent, _size: None
    notify: Callable[[str], None] = lambda _text: None

    def remote_digest(self, asset: RemoteAsset) -> Digest:
        """An asset's digest, requested at most once."""
        if asset.digest is not None:
            return asset.digest
        if asset.id not in self.digests:
            self.digests[asset.id] = self.store.digest(asset)
        return self.digests[asset.id]

    def known(self, asset: RemoteAsset, wanted: ExpectedAsset) -> RemoteAsset:
        """The asset with its digest, which is looked up only if the sizes are equal."""
        if asset.digest is None and asset.whole and asset.size == wanted.size:
            return replace(asset, digest=self.remote_digest(asset))
        return asset

    def step(
        self, wanted: ExpectedAsset, by_name: dict[str, RemoteAsset], mine: frozenset[str] = frozenset()
    ) -> PlannedAction:
        """The state and action of an expected asset. ``mine``: IDs of assets that this upload created."""
        remote, spare = (
            self.known(asset, wanted) if asset else None
            for asset in (by_name.get(wanted.name), by_name.get(wanted.temporary))
        )
        return step(wanted, remote, spare, lambda asset: asset.id in mine or self.may_replace(asset))

    def listing(self) -> dict[str, RemoteAsset]:
        """The current assets of the release, by name."""
        return {asset.name: asset for asset in self.store.assets(self.release)}


class AssetUpload:
    """The upload of one expected asset. ``run`` reports every failure in its record."""

    def __init__(self, wanted: ExpectedAsset, around: UploadContext) -> None:
        self.wanted = wanted
        self.around = around
        self.attempts = 0
        self.sent = 0
        self._mine: set[str] = set()
        self._renamed: RemoteAsset | None = None
        self._outcome: AssetOutcome = "identical"

    def run(self, snapshot: dict[str, RemoteAsset]) -> AssetRecord:
        """Upload the asset. ``snapshot``: the listing from before the first upload."""
        around = self.around
        if around.breaker.opened.is_set():
            return self._record("not-sent", around.breaker.reason)
        retrier = Retrier(
            around.policy,
            around.clock,
            around.breaker.opened,
            on_limit=around.pacer.hold,
            notify=lambda text: around.notify(f"{self.wanted.name}: {text}"),
        )
        first: list[dict[str, RemoteAsset]] = [snapshot]

        def attempt() -> None:
            try:
                self._attempt(first.pop() if first else around.listing())
            finally:
                around.breaker.answered.set()

        try:
            retrier.call(attempt)
        except _Conflict as conflict:
            return self._record("conflict", str(conflict))
        except StoreFailure as failure:
            if failure.kind is FailureKind.RELEASE or exceeds_longest_wait(failure, around.policy):
                around.breaker.open(failure.what)
            elif failure.kind is FailureKind.GONE and self._abandoned():
                around.breaker.open("the release was deleted during the upload")
            elif around.breaker.opened.is_set() and self.attempts == 0:
                return self._record("not-sent", around.breaker.reason)
            reason = failure.what
            if failure.kind in {
                FailureKind.TRANSIENT,
                FailureKind.AMBIGUOUS,
                FailureKind.LIMITED,
                FailureKind.GONE,
                FailureKind.TAKEN,
            }:
                reason += f" ({self.attempts} attempt{'s' if self.attempts != 1 else ''})"
            return self._record("failed", reason + self._clean())
        except Exception as error:  # noqa: BLE001  (an unexpected error in one asset must not stop the others)
            return self._record("failed", f"{type(error).__name__}: {error}" + self._clean())
        return self._record(self._outcome, "")

    def _record(self, outcome: AssetOutcome, reason: str) -> AssetRecord:
        wanted = self.wanted
        return AssetRecord(
            name=wanted.name,
            outcome=outcome,
            size=wanted.size,
            sha256=wanted.sha256,
            attempts=self.attempts,
            bytes_sent=self.sent,
            reason=reason,
        )

    def _attempt(self, by_name: dict[str, RemoteAsset]) -> None:
        """Make one attempt: upload and verify the asset. Raises `StoreFailure` or `_Conflict`."""
        around, wanted = self.around, self.wanted
        if self._renamed:
            self._refuse_name(self._renamed)
        now = around.step(wanted, by_name, frozenset(self._mine))
        if now.action is Action.KEEP:
            if self.attempts and self._outcome == "identical":
                self._outcome = "adopted"
            if now.spare:
                self._delete(now.spare)
            return
        if now.action is Action.CONFLICT:
            raise _Conflict(_difference(wanted, now.remote))
        if now.spare and now.action is not Action.FINISH:
            self._delete(now.spare)
        if now.remote and (now.action is Action.CLEAR or now.remote.id in self._mine):
            self._delete(now.remote)
            now = replace(now, action=Action.SEND, remote=None)
        if now.action in {Action.REPLACE, Action.FINISH}:
            spare = now.spare if now.spare and now.action is Action.FINISH else self._send(wanted.temporary)
            self._outcome = "replaced"
            if now.remote:
                self._delete(now.remote)
            self._take_name(spare)
            return
        self._send(wanted.name)

    def _send(self, name: str) -> RemoteAsset:
        """Upload under ``name``, and verify the uploaded asset."""
        around, wanted = self.around, self.wanted
        self._unchanged()
        around.pacer.acquire()
        if around.breaker.opened.is_set():
            raise StoreFailure(around.breaker.reason, FailureKind.RELEASE)
        self.attempts += 1
        before = self.sent

        def watch(taken: int) -> None:
            self.sent = before + taken
            around.watch(wanted.name, taken, wanted.size)
            if around.breaker.opened.is_set():
                raise StoreFailure(around.breaker.reason, FailureKind.RELEASE)

        outcome: AssetOutcome = "uploaded"
        try:
            made = around.store.upload(around.release, name, Body(wanted.source, wanted.size, watch))
        except StoreFailure as failure:
            if failure.kind not in {FailureKind.AMBIGUOUS, FailureKind.TAKEN}:
                raise
            patiently = failure.sent_all or failure.kind is FailureKind.TAKEN
            found = self._look(name, patiently=patiently, settling=not failure.answered)
            if found is None or not wanted.is_in(around.known(found, wanted)):
                raise
            made, outcome = found, "adopted"
        self._verify(name, made)
        if self._outcome != "replaced":
            self._outcome = outcome
        return made

    def _verify(self, name: str, made: RemoteAsset) -> None:
        around, wanted = self.around, self.wanted
        self._mine.add(made.id)
        if made.name != name:
            self._refuse_name(made)
        if not made.whole:
            raise StoreFailure(f"the server calls it {made.state}, not uploaded", FailureKind.TRANSIENT)
        if made.size != wanted.size:
            raise StoreFailure(f"the server holds {made.size:,} of {wanted.size:,} bytes", FailureKind.TRANSIENT)
        if around.remote_digest(made) != wanted.sha256:
            self._unchanged()
            raise StoreFailure("the server holds other bytes than were sent", FailureKind.TRANSIENT)

    def _look(self, name: str, *, patiently: bool, settling: bool) -> RemoteAsset | None:
        """Find an asset that may have been uploaded: a listing may show it seconds later.

        ``settling``: the server did not respond, so that an incomplete upload may still finish.
        """
        looks = self.around.policy.looks
        found = None
        for count, wait in enumerate(looks if patiently else looks[:1]):
            if wait:
                self.around.clock.sleep(wait, self.around.breaker.opened)
            try:
                found = self.around.listing().get(name)
            except StoreFailure as failure:
                if failure.kind in {FailureKind.RELEASE, FailureKind.LIMITED}:
                    raise
                continue
            worth_it = settling and (count < FEW or self.wanted.size >= LARGE)
            if found is not None and (found.whole or not worth_it):
                break
        return found

    def _take_name(self, spare: RemoteAsset) -> None:
        around = self.around
        around.pacer.acquire()
        renamed = around.store.rename(around.release, spare, self.wanted.name)
        if renamed.name != self.wanted.name:
            self._refuse_name(renamed)
        if spare.id in around.digests:
            around.digests[renamed.id] = around.digests[spare.id]

    def _refuse_name(self, asset: RemoteAsset) -> NoReturn:
        """Delete an asset that the server renamed, and fail: a retry would be renamed too."""
        self._renamed = self.around.astray[asset.id] = asset
        self._delete(asset)
        raise StoreFailure(f"the server renamed it to {asset.name}", FailureKind.ASSET)

    def _delete(self, asset: RemoteAsset) -> None:
        self.around.pacer.acquire()
        self.around.store.delete(self.around.release, asset)
        self.around.digests.pop(asset.id, None)
        self.around.astray.pop(asset.id, None)

    def _unchanged(self) -> None:
        wanted = self.wanted
        if not isinstance(wanted.source, Path):
            return
        try:
            about = wanted.source.stat()
        except OSError as error:
            raise StoreFailure(f"it cannot be read any more: {error.strerror}", FailureKind.ASSET) from error
        if (about.st_size, about.st_mtime_ns) != (wanted.size, wanted.mtime_ns):
            raise StoreFailure("the file was changed while it was released", FailureKind.ASSET)

    def _abandoned(self) -> bool:
        """Whether the release itself no longer exists."""
        around = self.around
        try:
            return around.store.by_id(around.release.id) is None
        except StoreFailure:
            return False

    def _clean(self) -> str:
        """Delete an incomplete upload of the last attempt. Returns a text for the reason if that failed."""
        if not self.attempts or self.around.breaker.opened.is_set():
            return ""
        try:
            by_name = self.around.listing()
            for name in (self.wanted.name, self.wanted.temporary):
                left = by_name.get(name)
                if left and (not left.whole or left.id in self._mine):
                    self._delete(left)
        except StoreFailure as failure:
            return f"; a half-upload of it may be left: {failure.what}"
        return ""


class _Conflict(Exception):
    """The name belongs to a different file that must not be replaced."""


def _difference(wanted: ExpectedAsset, remote: RemoteAsset | None) -> str:
    if remote is None or remote.size != wanted.size:
        return f"the release holds other bytes by this name ({remote.size if remote else 0:,} of them)"
    digest = remote.digest.prefixed[:19] if remote.digest else "digest not known"
    return f"the release holds other bytes by this name ({digest})"
