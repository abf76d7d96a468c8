"""Run the uploads of a release: a few in parallel, each independent of the others, the smallest one first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Protocol

from fatwheel.records.release import AssetRecord
from fatwheel.release.reconcile import ExpectedAsset
from fatwheel.release.upload import AssetUpload, UploadContext
from fatwheel.stores.remote import RemoteAsset

Deliver = Callable[[ExpectedAsset], AssetRecord]

GRACE = 5.0
"""Seconds that an interrupted run waits for its uploads. An upload that waits for a response could take minutes."""


class UploadTask(Protocol):
    """The upload of one or more assets. Tasks start in the order of ``size`` (bytes)."""

    @property
    def name(self) -> str:
        """The name of the asset, or of the artifact that contains it."""

    @property
    def size(self) -> int:
        """The approximate number of bytes to send."""

    def run(self, deliver: Deliver) -> list[AssetRecord]:
        """Upload the assets, one after the other."""

    def skipped(self, reason: str) -> list[AssetRecord]:
        """Return the records of the assets if the upload is not attempted."""


@dataclass(frozen=True)
class FileTask:
    """A file, and the assets that depend on it: they are uploaded only after the file."""

    assets: tuple[ExpectedAsset, ...]

    @property
    def name(self) -> str:
        """That of the file."""
        return self.assets[0].name

    @property
    def size(self) -> int:
        """That of the file."""
        return self.assets[0].size

    def run(self, deliver: Deliver) -> list[AssetRecord]:
        """Upload the file, then the dependent assets."""
        first = deliver(self.assets[0])
        if first.live:
            return [first, *map(deliver, self.assets[1:])]
        return [first, *self.skipped(f"{self.name} was not uploaded")[1:]]

    def skipped(self, reason: str) -> list[AssetRecord]:
        """Return records of assets that were not sent."""
        return [
            AssetRecord(name=one.name, outcome="not-sent", size=one.size, sha256=one.sha256, reason=reason)
            for one in self.assets
        ]


def execute(
    jobs: Sequence[UploadTask],
    context: UploadContext,
    snapshot: dict[str, RemoteAsset],
    settled: Callable[[AssetRecord], None],
) -> None:
    """Run all tasks. ``settled`` is called in this thread with each record as soon as it is known.

    The smallest asset goes first, and the others wait for the response to it, so that a release that rejects
    everything gets only one request. Ctrl-C opens the breaker and is raised again once the workers have stopped or
    `GRACE` has passed. Workers are daemon threads, so they do not keep the process alive.
    """
    todo: SimpleQueue[UploadTask] = SimpleQueue()
    for job in sorted(jobs, key=lambda job: (job.size, job.name)):
        todo.put(job)
    done: SimpleQueue[list[AssetRecord] | BaseException] = SimpleQueue()

    def work(place: int) -> None:
        if place:
            context.breaker.answered.wait()
        while not todo.empty():
            try:
                done.put(_deliver(todo.get(block=False), context, snapshot))
            except Empty:
                return
            except BaseException as error:  # noqa: BLE001  (raised again in the waiting thread)
                done.put(error)
                return

    workers = [
        threading.Thread(target=work, args=(place,), name=f"release-{place}", daemon=True)
        for place in range(min(context.policy.workers, len(jobs)))
    ]
    try:
        for worker in workers:
            worker.start()
        for _ in jobs:
            for record in _raise_or_return(done.get()):
                settled(record)
    except BaseException:
        context.breaker.open("interrupted")
        until = time.monotonic() + GRACE
        for worker in workers:
            worker.join(max(0.0, until - time.monotonic()))
        raise


def _raise_or_return(found: list[AssetRecord] | BaseException) -> list[AssetRecord]:
    if isinstance(found, BaseException):
        raise found
    return found


def _deliver(job: UploadTask, context: UploadContext, snapshot: dict[str, RemoteAsset]) -> list[AssetRecord]:
    if context.breaker.opened.is_set():
        return job.skipped(context.breaker.reason)
    try:
        return job.run(lambda wanted: AssetUpload(wanted, context).run(snapshot))
    finally:
        context.breaker.answered.set()
