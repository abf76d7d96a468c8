"""All deliveries of a release: a few at a time, each by itself, the smallest first and alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from pipeline.records.release import AssetRecord
from pipeline.release.delivery import Delivery, Surroundings
from pipeline.release.reconcile import Wanted
from pipeline.stores.remote import RemoteAsset

Job = tuple[Wanted, ...]
"""Assets that go one after the other; one that is not live keeps those behind it from being sent."""


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
    order = sorted(jobs, key=lambda job: (job[0].size, job[0].name))
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
    records: list[AssetRecord] = []
    try:
        for wanted in job:
            if records and not records[0].live:
                records.append(
                    AssetRecord(
                        name=wanted.name,
                        outcome="not-sent",
                        size=wanted.size,
                        sha256=wanted.sha256,
                        reason=f"{job[0].name} is not live",
                    )
                )
            else:
                records.append(Delivery(wanted, around).run(snapshot))
    finally:
        around.breaker.answered.set()
    return records
