"""Find the release of a tag to write to, or create it as a draft."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fatwheel.clock import Clock
from fatwheel.errors import ReleaseRefused
from fatwheel.formatting import count_of
from fatwheel.release.rate_limit import RateLimiter
from fatwheel.stores.remote import RemoteRelease, Store
from fatwheel.stores.retry import Retrier, RetryPolicy
from fatwheel.stores.store_errors import FailureKind, StoreFailure

T = TypeVar("T")

_SHA = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Opening:
    """The values of a new draft."""

    tag: str
    commit: str | None
    title: str
    notes: str
    prerelease: bool = False


def select_release(found: Sequence[RemoteRelease], commit: str | None) -> tuple[RemoteRelease | None, tuple[str, ...]]:
    """Select the release to write to, or None to create one. Returns it with notes. Raises `ReleaseRefused`.

    A published release comes before any draft. Of several drafts the oldest is selected, so that parallel runs select
    the same one.
    """
    published = [release for release in found if not release.draft]
    drafts = sorted((r for r in found if r.draft), key=lambda r: (len(r.id), r.id))
    if not found:
        return None, ()
    chosen = (published or drafts)[0]
    if commit and chosen.commit and _SHA.fullmatch(chosen.commit) and chosen.commit != commit:
        raise ReleaseRefused(
            f"the {'draft' if chosen.draft else 'release'} of {chosen.tag} belongs to commit {chosen.commit[:12]}, "
            f"not {commit[:12]}",
            help="delete that draft, or release from its commit" if chosen.draft else "use another tag",
        )
    others = len(drafts) - (1 if chosen.draft else 0)
    notes = (f"{count_of(others, 'other draft')} of {chosen.tag} not changed",) if others else ()
    return chosen, notes


def is_same_commit(release: RemoteRelease, commit: str | None) -> bool:
    """Whether a draft is known to belong to the commit that is released now."""
    return bool(release.draft and commit and _SHA.fullmatch(commit) and release.commit == commit)


class ReleaseRequests:
    """The requests before and after the uploads. Each is retried, because no upload works without them."""

    def __init__(
        self,
        store: Store,
        policy: RetryPolicy,
        clock: Clock,
        stop: threading.Event,
        pacer: RateLimiter,
        *,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        self.store = store
        self._notify = notify
        self._pacer = pacer
        self._policy = policy
        self._clock = clock
        self._stop = stop

    def call(self, request: Callable[..., T], *arguments: Any) -> T:
        """Call a function with retries, and return its result. Raises `StoreFailure`."""
        retrier = Retrier(self._policy, self._clock, self._stop, on_limit=self._pacer.hold, notify=self._notify)
        return retrier.call(request, *arguments)

    def find(self, tag: str) -> tuple[RemoteRelease, ...]:
        """The releases of a tag."""
        return self.call(self.store.find, tag)

    def obtain(self, opening: Opening) -> tuple[RemoteRelease, bool, tuple[str, ...]]:
        """Find the release or create a draft. Returns the release, whether this run created it, and notes."""
        made = False

        def once() -> tuple[RemoteRelease, bool, tuple[str, ...]]:
            nonlocal made
            chosen, notes = select_release(self.store.find(opening.tag), opening.commit)
            if chosen is not None:
                return chosen, made and chosen.draft, notes
            made = True
            self._pacer.acquire()
            try:
                draft = self.store.create_draft(
                    opening.tag,
                    commit=opening.commit,
                    title=opening.title,
                    notes=opening.notes,
                    prerelease=opening.prerelease,
                )
            except StoreFailure as failure:
                if failure.kind is FailureKind.AMBIGUOUS:
                    self._await(
                        opening
                    )  # the draft may exist although the response was lost: do not create a second one
                raise
            return self._first_of(draft, opening), True, notes

        return self.call(once)

    def publish(self, release: RemoteRelease, *, commit: str | None, notes: str | None) -> RemoteRelease:
        """Publish a draft; after a lost response, check whether it was published."""

        def once() -> RemoteRelease:
            self._pacer.acquire()
            try:
                return self.store.publish(release, commit=commit, notes=notes)
            except StoreFailure as failure:
                if failure.kind is not FailureKind.AMBIGUOUS:
                    raise
                found = self.store.by_id(release.id)  # not by its tag: another run may have published one
                if found is None or found.draft:
                    raise
                return found

        return self.call(once)

    def _first_of(self, draft: RemoteRelease, opening: Opening) -> RemoteRelease:
        """Return the draft, or an earlier one of a parallel run; the new draft is then deleted."""
        chosen, _ = select_release(
            [r for r in self.store.find(opening.tag) if r.id != draft.id] + [draft], opening.commit
        )
        if chosen is None or chosen.id == draft.id:
            return draft
        self._pacer.acquire()
        self.store.delete_release(draft)
        return chosen

    def _await(self, opening: Opening) -> None:
        for wait in self._policy.looks:
            self._clock.sleep(wait, self._stop)
            if self.store.find(opening.tag):
                return
