"""All deliveries of a release: a few at a time, each by itself, the smallest first and alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Protocol

from pipeline.records.release import AssetRecord
from pipeline.release.delivery import Delivery, Surroundings
from pipeline.release.reconcile import Wanted
from pipeline.stores.remote import RemoteAsset

Deliver = Callable[[Wanted], AssetRecord]


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


@dataclass(frozen=True)
class FileJob:
    """An asset, and those that are of use only with it: they follow if it is live."""

    assets: tuple[Wanted, ...]

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
        reason = f"{self.name} is not live"
        return [
            first,
            *(
                AssetRecord(name=one.name, outcome="not-sent", size=one.size, sha256=one.sha256, reason=reason)
                for one in self.assets[1:]
            ),
        ]


def execute(
    jobs: Sequence[Job],
    around: Surroundings,
    snapshot: dict[str, RemoteAsset],
    settled: Callable[[AssetRecord], None],
) -> None:
    """Deliver all jobs. ``settled`` is called in this thread with each record, as soon as there is one.

    The smallest asset goes first: while it has had no answer the others wait, so that a release which refuses
    everything is asked only once. Ctrl-C opens the breaker and is raised again when the workers have stopped.
    """
    order = sorted(jobs, key=lambda job: (job.size, job.name))
    pool = ThreadPoolExecutor(max_workers=around.policy.workers, thread_name_prefix="release")
    futures: set[Future[list[AssetRecord]]] = set()
    try:
        for place, job in enumerate(order):
            futures.add(pool.submit(_deliver, job, around, snapshot))
            if place == 0:
                around.breaker.answered.wait()
        while futures:
            done, futures = wait(futures, return_when=FIRST_COMPLETED)
            for future in done:
                for record in future.result():
                    settled(record)
    except BaseException:
        around.breaker.open("interrupted")
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _deliver(job: Job, around: Surroundings, snapshot: dict[str, RemoteAsset]) -> list[AssetRecord]:
    try:
        return job.run(lambda wanted: Delivery(wanted, around).run(snapshot))
    finally:
        around.breaker.answered.set()
