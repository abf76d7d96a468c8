"""All deliveries of a release: a few at a time, each by itself, the smallest first and alone."""

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
"""Seconds that an interrupted run gives its uploads to end: one that waits for an answer would take minutes."""


class Job(Protocol):
    """Something that becomes assets. ``size`` in bytes, to begin with the smallest."""

    @property
    def name(self) -> str:
        """The asset's name, or what it comes from."""

    @property
    def size(self) -> int:
        """Of all that there is to send, or nearly."""

    def run(self, deliver: Deliver) -> list[AssetRecord]:
        """Deliver the assets, one after the other."""

    def skipped(self, reason: str) -> list[AssetRecord]:
        """What is told of the assets if they are not even tried."""


@dataclass(frozen=True)
class FileJob:
    """An asset, and those that are of use only with it: they follow if it is live."""

    assets: tuple[ExpectedAsset, ...]

    @property
    def name(self) -> str:
        """The first one's."""
        return self.assets[0].name

    @property
    def size(self) -> int:
        """The first one's."""
        return self.assets[0].size

    def run(self, deliver: Deliver) -> list[AssetRecord]:
        """Deliver them."""
        first = deliver(self.assets[0])
        if first.live:
            return [first, *map(deliver, self.assets[1:])]
        return [first, *self.skipped(f"{self.name} is not live")[1:]]

    def skipped(self, reason: str) -> list[AssetRecord]:
        """None of them was sent."""
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
    """Deliver all jobs. ``settled`` is called in this thread with each record, as soon as there is one.

    The smallest asset goes first: while it has had no answer the others wait, so that a release which refuses
    everything is asked only once. Ctrl-C opens the breaker and is raised again when the workers have stopped, or have
    had time for it: they are daemons, which do not keep the process.
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
            except BaseException as error:  # noqa: BLE001  (raised again in the thread that waits for it)
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
