"""Runs all upload jobs: a few in parallel and independently, after the smallest has had a response."""

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
"""Seconds that an interrupted run waits for its uploads to stop; waiting for a response could take minutes."""


class Job(Protocol):
    """A source of one or more assets. Jobs run in order of ``size`` (bytes)."""

    @property
    def name(self) -> str:
        """The name of the asset or of its workflow artifact."""

    @property
    def size(self) -> int:
        """The approximate number of bytes to upload."""

    def run(self, deliver: Deliver) -> list[AssetRecord]:
        """Upload the assets one after the other, and return their records."""

    def skipped(self, reason: str) -> list[AssetRecord]:
        """The records of the assets if no upload is attempted."""


@dataclass(frozen=True)
class FileJob:
    """An asset and its companions, which are uploaded only if the first asset was."""

    assets: tuple[ExpectedAsset, ...]

    @property
    def name(self) -> str:
        """The name of the first asset."""
        return self.assets[0].name

    @property
    def size(self) -> int:
        """The size of the first asset, in bytes."""
        return self.assets[0].size

    def run(self, deliver: Deliver) -> list[AssetRecord]:
        """Upload the assets, and return their records."""
        first = deliver(self.assets[0])
        if first.live:
            return [first, *map(deliver, self.assets[1:])]
        return [first, *self.skipped(f"{self.name} was not uploaded")[1:]]

    def skipped(self, reason: str) -> list[AssetRecord]:
        """Return a record with the outcome not-sent for each asset."""
        return [
            AssetRecord(name=one.name, outcome="not-sent", size=one.size, sha256=one.sha256, reason=reason)
            for one in self.assets
        ]


def execute(
    jobs: Sequence[Job],
    around: UploadContext,
    snapshot: dict[str, RemoteAsset],
    settled: Callable[[AssetRecord], None],
) -> None:
    """Run all jobs. ``settled`` is called in this thread with each record as soon as it is known.

    The smallest asset goes first and the others wait for its response, so that a release that rejects all uploads
    receives only one request. Ctrl-C opens the circuit breaker; it is raised again once the workers have stopped or
    `GRACE` seconds have passed. Workers are daemon threads, which do not keep the process alive.
    """
    todo: SimpleQueue[Job] = SimpleQueue()
    for job in sorted(jobs, key=lambda job: (job.size, job.name)):
        todo.put(job)
    done: SimpleQueue[list[AssetRecord] | BaseException] = SimpleQueue()

    def work(place: int) -> None:
        if place:
            around.breaker.answered.wait()
        while not todo.empty():
            try:
                done.put(_deliver(todo.get(block=False), around, snapshot))
            except Empty:
                return
            except BaseException as error:  # noqa: BLE001  (raised again in the calling thread)
                done.put(error)
                return

    workers = [
        threading.Thread(target=work, args=(place,), name=f"release-{place}", daemon=True)
        for place in range(min(around.policy.workers, len(jobs)))
    ]
    try:
        for worker in workers:
            worker.start()
        for _ in jobs:
            for record in _told(done.get()):
                settled(record)
    except BaseException:
        around.breaker.open("interrupted")
        until = time.monotonic() + GRACE
        for worker in workers:
            worker.join(max(0.0, until - time.monotonic()))
        raise


def _told(found: list[AssetRecord] | BaseException) -> list[AssetRecord]:
    if isinstance(found, BaseException):
        raise found
    return found


def _deliver(job: Job, around: UploadContext, snapshot: dict[str, RemoteAsset]) -> list[AssetRecord]:
    if around.breaker.opened.is_set():
        return job.skipped(around.breaker.reason)
    try:
        return job.run(lambda wanted: AssetUpload(wanted, around).run(snapshot))
    finally:
        around.breaker.answered.set()
