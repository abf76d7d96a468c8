"""The fallback store: files that are too large for one store go to another, if matrix.yaml declares one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fatwheel.errors import PipelineError
from fatwheel.records.release import AssetRecord, HashedFile, ReleaseRecord
from fatwheel.release.request import ProgressListener, ReleaseRequest
from fatwheel.stores.remote import Store

UNLIMITED = 1 << 62  # bytes


class FallbackProgress:
    """Progress of uploads to the fallback store: shown, but not written to the journal of this release."""

    def __init__(self, progress: ProgressListener) -> None:
        self._progress = progress

    def say(self, text: str) -> None:
        """Forward."""
        self._progress.say(text)

    def hashed(self, file: HashedFile) -> None:
        """Forward."""
        self._progress.hashed(file)

    def opened(self, release_id: str) -> None:
        """Ignore."""

    def sent(self, name: str, taken: int, size: int) -> None:
        """Forward."""
        self._progress.sent(name, taken, size)

    def settled(self, record: AssetRecord) -> None:
        """Ignore."""


def narrow_request(request: ReleaseRequest, files: Sequence[Path], store: Store) -> ReleaseRequest:
    """Narrow a request to the files that go to the fallback store."""
    names = {file.name for file in files}
    plan = request.plan
    if plan is not None:
        plan = plan.model_copy(update={"cells": [cell for cell in plan.cells if cell.wheel in names]})
    return replace(
        request,
        files=tuple(files),
        plan=plan,
        commit=None if store.rules().whole else request.commit,  # the commit is not in another repository
        size_limit=UNLIMITED,
        over="withhold",
        elsewhere=None,
        replace=request.replace & names,
        run=None,
        release_id=None,
    )


def add_fallback_result(record: AssetRecord, there: ReleaseRecord | PipelineError, store: Store) -> AssetRecord:
    """Add the result of the fallback store to the record of a file that was withheld for its size."""
    if isinstance(there, PipelineError):
        return record.model_copy(update={"reason": f"{record.reason}; {store.spec}: {there.what}"})
    other = next((asset for asset in there.assets if asset.name == record.name), None)
    if other is None:
        return record
    result = f"{store.spec}: {other.outcome}" + (f", {other.reason}" if other.reason else "")
    update: dict[str, object] = {
        "reason": f"{record.reason}; {result}", "sha256": other.sha256, "attempts": other.attempts,
        "bytes_sent": other.bytes_sent, "elsewhere": store.spec if other.live else None,
    }  # fmt: skip
    if other.outcome == "not-sent":
        update["outcome"] = "not-sent"
    return record.model_copy(update=update)
