"""The upload of one asset: compare, act and verify, until the asset is in the store or cannot be."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from fatwheel.clock import Clock
from fatwheel.digests import Digest
from fatwheel.formatting import count_of
from fatwheel.records.release import AssetOutcome, AssetRecord
from fatwheel.release.rate_limit import RateLimiter
from fatwheel.release.reconcile import Action, ExpectedAsset, PlannedAction, plan_action
from fatwheel.stores.body import Body
from fatwheel.stores.remote import RemoteAsset, RemoteRelease, Store
from fatwheel.stores.retry import Retrier, RetryPolicy, exceeds_longest_wait
from fatwheel.stores.store_errors import FailureKind, StoreFailure

LARGE = 64 << 20
"""Bytes. Sending a smaller file again is faster than waiting for a partial upload to complete."""
FEW = 2  # checks for small files


class CircuitBreaker:
    """Opens when the release itself is rejected. From then on nothing is sent."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.answered = threading.Event()  # the first upload got a response
        self.reason = ""

    def open(self, reason: str) -> None:
        """Stop all uploads. The first reason is kept."""
        if not self.opened.is_set():
            self.reason = reason
            self.opened.set()
        self.answered.set()


@dataclass(frozen=True)
class UploadContext:
    """The state that all uploads of one release share."""

    store: Store
    release: RemoteRelease
    pacer: RateLimiter
    policy: RetryPolicy
    clock: Clock
    breaker: CircuitBreaker
    may_replace: Callable[[RemoteAsset], bool]
    digests: dict[str, Digest] = field(default_factory=dict)  # by asset ID, if the store does not list them
    astray: dict[str, RemoteAsset] = field(default_factory=dict)  # by ID: created by this run under a wrong name
    watch: Callable[[str, int, int], None] = lambda _name, _sent, _size: None
    notify: Callable[[str], None] = lambda _text: None

    def remote_digest(self, asset: RemoteAsset) -> Digest:
        """Return the digest of an asset, requesting it at most once."""
        if asset.digest is not None:
            return asset.digest
        if asset.id not in self.digests:
            self.digests[asset.id] = self.store.digest(asset)
        return self.digests[asset.id]

    def known(self, asset: RemoteAsset, wanted: ExpectedAsset) -> RemoteAsset:
        """Return the asset with its digest, which is looked up only if the sizes are equal."""
        if asset.digest is None and asset.whole and asset.size == wanted.size:
            return replace(asset, digest=self.remote_digest(asset))
        return asset

    def step(
        self, wanted: ExpectedAsset, by_name: dict[str, RemoteAsset], mine: frozenset[str] = frozenset()
    ) -> PlannedAction:
        """Return the state and action of an expected asset. ``mine``: IDs of assets that this run created."""
        remote, spare = (
            self.known(asset, wanted) if asset else None
            for asset in (by_name.get(wanted.name), by_name.get(wanted.temporary))
        )
        return plan_action(wanted, remote, spare, lambda asset: asset.id in mine or self.may_replace(asset))

    def listing(self) -> dict[str, RemoteAsset]:
        """List the assets of the release, by name."""
        return {asset.name: asset for asset in self.store.assets(self.release)}


class AssetUpload:
    """One expected asset. ``run`` never raises because of a store or a file: the outcome is in the record."""

    def __init__(self, wanted: ExpectedAsset, context: UploadContext) -> None:
        self.wanted = wanted
        self.context = context
        self.attempts = 0
        self.sent = 0
        self._mine: set[str] = set()
        self._renamed: RemoteAsset | None = None
        self._outcome: AssetOutcome = "identical"

    def run(self, snapshot: dict[str, RemoteAsset]) -> AssetRecord:
        """Upload the asset if necessary. ``snapshot`` is the listing from before the first upload."""
        context = self.context
        if context.breaker.opened.is_set():
            return self._record("not-sent", context.breaker.reason)
        retrier = Retrier(
            context.policy,
            context.clock,
            context.breaker.opened,
            on_limit=context.pacer.hold,
            notify=lambda text: context.notify(f"{self.wanted.name}: {text}"),
        )
        first: list[dict[str, RemoteAsset]] = [snapshot]

        def attempt() -> None:
            try:
                self._attempt(first.pop() if first else context.listing())
            finally:
                context.breaker.answered.set()

        try:
            retrier.call(attempt)
        except _Conflict as conflict:
            return self._record("conflict", str(conflict))
        except StoreFailure as failure:
            if failure.kind is FailureKind.RELEASE or exceeds_longest_wait(failure, context.policy):
                context.breaker.open(failure.what)
            elif failure.kind is FailureKind.GONE and self._is_release_gone():
                context.breaker.open("the release was deleted during the upload")
            elif context.breaker.opened.is_set() and self.attempts == 0:
                return self._record("not-sent", context.breaker.reason)
            reason = failure.what
            if failure.kind in {
                FailureKind.TRANSIENT,
                FailureKind.AMBIGUOUS,
                FailureKind.LIMITED,
                FailureKind.GONE,
                FailureKind.TAKEN,
            }:
                reason += f" ({count_of(self.attempts, 'attempt')})"
            return self._record("failed", reason + self._clean_up())
        except Exception as error:  # noqa: BLE001  (an unexpected error in one asset must not stop the others)
            return self._record("failed", f"{type(error).__name__}: {error}" + self._clean_up())
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
        """Make one attempt to bring the asset into the release, verified. Raises `StoreFailure` or `_Conflict`."""
        context, wanted = self.context, self.wanted
        if self._renamed:
            self._refuse_name(self._renamed)
        now = context.step(wanted, by_name, frozenset(self._mine))
        if now.action is Action.KEEP:
            if self.attempts and self._outcome == "identical":
                self._outcome = "adopted"
            if now.spare:
                self._delete(now.spare)
            return
        if now.action is Action.CONFLICT:
            raise _Conflict(_describe_conflict(wanted, now.remote))
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
            self._rename(spare)
            return
        self._send(wanted.name)

    def _send(self, name: str) -> RemoteAsset:
        """Upload under ``name`` and verify the result."""
        context, wanted = self.context, self.wanted
        self._check_unchanged()
        context.pacer.acquire()
        if context.breaker.opened.is_set():
            raise StoreFailure(context.breaker.reason, FailureKind.RELEASE)
        self.attempts += 1
        before = self.sent

        def watch(taken: int) -> None:
            self.sent = before + taken
            context.watch(wanted.name, taken, wanted.size)
            if context.breaker.opened.is_set():
                raise StoreFailure(context.breaker.reason, FailureKind.RELEASE)

        outcome: AssetOutcome = "uploaded"
        try:
            made = context.store.upload(context.release, name, Body(wanted.source, wanted.size, watch))
        except StoreFailure as failure:
            if failure.kind not in {FailureKind.AMBIGUOUS, FailureKind.TAKEN}:
                raise
            patiently = failure.sent_all or failure.kind is FailureKind.TAKEN
            found = self._look(name, patiently=patiently, settling=not failure.answered)
            if found is None or not wanted.is_in(context.known(found, wanted)):
                raise
            made, outcome = found, "adopted"
        self._verify(name, made)
        if self._outcome != "replaced":
            self._outcome = outcome
        return made

    def _verify(self, name: str, made: RemoteAsset) -> None:
        context, wanted = self.context, self.wanted
        self._mine.add(made.id)
        if made.name != name:
            self._refuse_name(made)
        if not made.whole:
            raise StoreFailure(f"the server reports the state {made.state}, not uploaded", FailureKind.TRANSIENT)
        if made.size != wanted.size:
            raise StoreFailure(f"the server has {made.size:,} of {wanted.size:,} bytes", FailureKind.TRANSIENT)
        if context.remote_digest(made) != wanted.sha256:
            self._check_unchanged()
            raise StoreFailure("the content on the server differs from what was sent", FailureKind.TRANSIENT)

    def _look(self, name: str, *, patiently: bool, settling: bool) -> RemoteAsset | None:
        """Find an asset that may have been uploaded: new assets may take seconds to be listed.

        ``settling``: the server may still complete a partial upload.
        """
        looks = self.context.policy.looks
        found = None
        for count, wait in enumerate(looks if patiently else looks[:1]):
            if wait:
                self.context.clock.sleep(wait, self.context.breaker.opened)
            try:
                found = self.context.listing().get(name)
            except StoreFailure as failure:
                if failure.kind in {FailureKind.RELEASE, FailureKind.LIMITED}:
                    raise
                continue
            worth_it = settling and (count < FEW or self.wanted.size >= LARGE)
            if found is not None and (found.whole or not worth_it):
                break
        return found

    def _rename(self, spare: RemoteAsset) -> None:
        context = self.context
        context.pacer.acquire()
        renamed = context.store.rename(context.release, spare, self.wanted.name)
        if renamed.name != self.wanted.name:
            self._refuse_name(renamed)
        if spare.id in context.digests:
            context.digests[renamed.id] = context.digests[spare.id]

    def _refuse_name(self, asset: RemoteAsset) -> NoReturn:
        """Delete an asset that the server renamed, and give up: it would be renamed again."""
        self._renamed = self.context.astray[asset.id] = asset
        self._delete(asset)
        raise StoreFailure(f"the server renamed it to {asset.name}", FailureKind.ASSET)

    def _delete(self, asset: RemoteAsset) -> None:
        self.context.pacer.acquire()
        self.context.store.delete(self.context.release, asset)
        self.context.digests.pop(asset.id, None)
        self.context.astray.pop(asset.id, None)

    def _check_unchanged(self) -> None:
        wanted = self.wanted
        if not isinstance(wanted.source, Path):
            return
        try:
            about = wanted.source.stat()
        except OSError as error:
            raise StoreFailure(f"cannot read the file: {error.strerror}", FailureKind.ASSET) from error
        if (about.st_size, about.st_mtime_ns) != (wanted.size, wanted.mtime_ns):
            raise StoreFailure("the file changed during the release", FailureKind.ASSET)

    def _is_release_gone(self) -> bool:
        """Whether the release itself does not exist anymore."""
        context = self.context
        try:
            return context.store.by_id(context.release.id) is None
        except StoreFailure:
            return False

    def _clean_up(self) -> str:
        """Delete a partial upload of the last attempt. Returns a warning if that fails."""
        if not self.attempts or self.context.breaker.opened.is_set():
            return ""
        try:
            by_name = self.context.listing()
            for name in (self.wanted.name, self.wanted.temporary):
                left = by_name.get(name)
                if left and (not left.whole or left.id in self._mine):
                    self._delete(left)
        except StoreFailure as failure:
            return f"; a partial upload may remain: {failure.what}"
        return ""


class _Conflict(Exception):
    """A different file has the name and must not be changed."""


def _describe_conflict(wanted: ExpectedAsset, remote: RemoteAsset | None) -> str:
    if remote is None or remote.size != wanted.size:
        return f"the release already has a different file with this name ({remote.size if remote else 0:,} bytes)"
    digest = remote.digest.prefixed[:19] if remote.digest else "unknown digest"
    return f"the release already has a different file with this name ({digest})"
