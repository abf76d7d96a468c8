"""Dry runs: the outcome of each asset without uploading anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fatwheel.records.release import AssetOutcome, AssetRecord
from fatwheel.release.execute import FileTask, UploadTask
from fatwheel.release.reconcile import Action, State
from fatwheel.release.upload import UploadContext
from fatwheel.stores.remote import RemoteAsset


def dry_run(
    jobs: Iterable[UploadTask], context: UploadContext, by_name: Mapping[str, RemoteAsset], why: str = "dry run"
) -> list[AssetRecord]:
    """Return the record of each asset: identical, in conflict, or what would be done. Nothing is uploaded."""
    records = []
    for job in jobs:
        if not isinstance(job, FileTask):
            reason = f"{why}: would be taken from the artifact"
            records.append(AssetRecord(name=job.name, outcome="not-sent", size=job.size, reason=reason))
            continue
        for wanted in job.assets:
            now = context.step(wanted, dict(by_name))
            outcome: AssetOutcome
            if now.action is Action.KEEP:
                outcome, reason = "identical", ""
            elif now.action is Action.CONFLICT or (now.state is State.DIFFERENT and context.release.immutable):
                outcome, reason = "conflict", "the release already has a different file with this name"
            else:
                outcome, reason = "not-sent", f"{why}: {now.state.value}; would {now.action.value}"
            records.append(
                AssetRecord(name=wanted.name, outcome=outcome, size=wanted.size, sha256=wanted.sha256, reason=reason)
            )
    return records


def missing_assets(planned: Iterable[str], present: Mapping[str, RemoteAsset]) -> list[AssetRecord]:
    """Return the records of planned wheels that are not part of this run: uploaded by an earlier run, or missing."""
    records = []
    for name in planned:
        there = present.get(name)
        if there is not None and there.whole:
            reason = "from an earlier run"
            records.append(AssetRecord(name=name, outcome="identical", size=there.size, reason=reason))
        else:
            records.append(AssetRecord(name=name, outcome="missing", reason="planned, but no wheel was given"))
    return records
