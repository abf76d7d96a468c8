"""What is too large for one store goes to another, where the declaration says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pipeline.records.release import ReleaseRecord
from pipeline.release.request import ReleaseRequest
from pipeline.release.sources import gather
from pipeline.stores.remote import Store

UNLIMITED = 1 << 62  # bytes


def too_large(request: ReleaseRequest, limit: int) -> ReleaseRequest | None:
    """The part of a request that is over the limit, as a request of its own; None if nothing is."""
    given, _ = gather(request.files)
    files = tuple(one.path for one in given if one.size >= limit)
    if not files:
        return None
    names = {file.name for file in files}
    plan = request.plan
    if plan is not None:
        plan = plan.model_copy(update={"cells": [cell for cell in plan.cells if cell.wheel in names]})
    return replace(request, files=files, plan=plan, size_limit=UNLIMITED, run=None, release_id=None)


def divert(
    done: ReleaseRecord,
    request: ReleaseRequest,
    limit: int,
    store: Store,
    release: Callable[[Store, ReleaseRequest], ReleaseRecord],
) -> ReleaseRecord:
    """Release what was withheld for its size to ``store``; the record says of each where it is now."""
    part = too_large(request, limit)
    if part is None:
        return done
    there = {asset.name: asset for asset in release(store, part).assets}
    assets = []
    for asset in done.assets:
        other = there.get(asset.name)
        if asset.outcome == "withheld" and other is not None:
            reason = f"{asset.reason}; {store.spec}: {other.outcome}" + (f", {other.reason}" if other.reason else "")
            asset = asset.model_copy(update={"reason": reason, "elsewhere": store.spec if other.live else None})  # noqa: PLW2901
        assets.append(asset)
    return done.model_copy(update={"assets": assets})
