"""Retention: find the expired releases of a channel, and delete them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fatwheel.release.inspection import Inspector
from fatwheel.stores.remote import RemoteRelease
from fatwheel.stores.store_errors import StoreFailure

DAY = 86400.0  # seconds


@dataclass(frozen=True)
class RetentionPolicy:
    """How many releases of a channel are kept, and for how many days. None means no limit."""

    tag: str  # tag format of the channel, with {version} and {date}
    releases: int | None
    days: int | None
    nightly: bool = False  # only versions with a date: the tags of releases may have the same format


@dataclass(frozen=True)
class Pruning:
    """The kept and the expired releases of a channel, newest first."""

    kept: tuple[RemoteRelease, ...]
    expired: tuple[RemoteRelease, ...]


def make_tag_pattern(form: str, *, nightly: bool = False) -> re.Pattern[str]:
    """Return a pattern that matches the tags of a channel. The version of a nightly ends in ``.devYYYYMMDD``."""
    pattern = re.escape(form)
    version = r"[0-9][0-9A-Za-z.+!-]*" + (r"\.dev[0-9]{8}" if nightly else "")
    pattern = pattern.replace(re.escape("{version}"), version)
    return re.compile(pattern.replace(re.escape("{date}"), r"[0-9]{8}"))


def find_expired(releases: Sequence[RemoteRelease], keep: RetentionPolicy, now: float) -> Pruning:
    """Find the expired published releases of a channel. ``now`` in seconds since 1970.

    A release expires only if it exceeds every limit that is set. The newest release never expires, and with a limit
    in days neither does one of unknown age.
    """
    pattern = make_tag_pattern(keep.tag, nightly=keep.nightly)
    mine = [r for r in releases if not r.draft and pattern.fullmatch(r.tag)]
    mine.sort(key=lambda r: (r.created, r.tag), reverse=True)
    kept: list[RemoteRelease] = []
    expired: list[RemoteRelease] = []
    for place, release in enumerate(mine):
        age = _age(release, now)
        many = keep.releases is not None and place >= keep.releases
        old = keep.days is not None and age is not None and age > keep.days * DAY
        bounds = [many] if keep.releases is not None else []
        bounds += [old] if keep.days is not None else []
        (expired if place and bounds and all(bounds) else kept).append(release)
    return Pruning(tuple(kept), tuple(expired))


def delete_releases(inspector: Inspector, releases: Sequence[RemoteRelease]) -> list[str]:
    """Delete releases with their tags, oldest first. Returns the errors; one failure does not stop the others."""
    failures = []
    for release in reversed(releases):
        inspector.pacer.acquire()
        try:
            inspector.requests.call(inspector.store.delete_release, release)
        except StoreFailure as failure:
            failures.append(f"{release.tag}: {failure.what}")
    return failures


def _age(release: RemoteRelease, now: float) -> float | None:
    try:
        return now - datetime.fromisoformat(release.created).timestamp()
    except ValueError:
        return None
