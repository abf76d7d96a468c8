import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fatwheel.wheels.io.block_cache import AHEAD, BLOCK, DIRECT, KEPT, BlockCache
from fatwheel.wheels.io.byte_sources import Malformed


class Far:
    """A slow source that records requests."""

    def __init__(self, size):
        self.size = size
        self.data = random.Random(size).randbytes(size)
        self.asked = []
        self.lock = threading.Lock()

    def fetch(self, offset, length, into):
        with self.lock:
            self.asked.append((offset, length))
        assert 0 <= offset < offset + length <= self.size
        into.write(self.bytes(offset, length))

    def bytes(self, offset, length):
        return self.data[offset : offset + length]


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 77])
@pytest.mark.parametrize("tail", [0, 1, 2 * BLOCK])
def test_any_read_returns_the_bytes_of_the_source(size, tail):
    far, rng = Far(size), random.Random(size + tail)
    cache = BlockCache(size, far.fetch, far.bytes(max(0, size - tail), min(size, tail)))
    for _ in range(30):
        at = rng.randint(0, size)
        length = rng.choice([0, 1, 3, rng.randint(0, size)])
        if at + length > size:
            with pytest.raises(Malformed):
                cache.read(at, length)
        else:
            assert cache.read(at, length) == far.bytes(at, length)


def test_memory_use_does_not_grow_with_the_bytes_read():
    def fetch(_, length, into):
        into.write(bytes(length))

    cache = BlockCache(1 << 30, fetch)
    for at in range(0, 1 << 30, 16 * BLOCK - 5):
        cache.read(at, 10)
    for at in range(0, 32 << 20, 1000):
        cache.read(at, 1000)
    assert len(cache._blocks) <= KEPT
    assert not cache._pending
    assert sum(map(len, cache._blocks.values())) <= KEPT * BLOCK


def test_a_long_read_is_not_cached():
    def fetch(_, length, into):
        into.write(bytes(length))

    cache = BlockCache(1 << 28, fetch)
    assert len(cache.read(5, 100 << 20)) == 100 << 20
    assert not cache._blocks


def test_sequential_reads_fetch_growing_runs_and_random_ones_single_blocks():
    def fetch(_, length, into):
        asked.append(length // BLOCK)
        into.write(bytes(length))

    asked = []
    cache = BlockCache(1000 * BLOCK, fetch)
    for at in range(0, 300 * BLOCK, BLOCK):
        cache.read(at, 1)
    assert asked == [1, 2, 4, 8, 16, 32, AHEAD, AHEAD, AHEAD, AHEAD]
    asked.clear()
    for block in (999, 500, 700, 400):
        cache.read(block * BLOCK, 1)
    assert asked == [1, 1, 1, 1]


def test_threads_that_need_the_same_block_fetch_it_once():
    far = Far(40 * BLOCK)
    slow = threading.Event()

    def fetch(offset, length, into):
        slow.wait(5)
        far.fetch(offset, length, into)

    cache = BlockCache(far.size, fetch)
    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(cache.read, 3 * BLOCK + 5, 10) for _ in range(8)]
        slow.set()
        assert {one.result() for one in running} == {far.bytes(3 * BLOCK + 5, 10)}
    assert far.asked == [(3 * BLOCK, BLOCK)]


def test_a_failure_reaches_all_waiting_threads_and_the_next_read_retries():
    far, failing = Far(10 * BLOCK), [True]

    def fetch(offset, length, into):
        if failing[0]:
            raise Malformed("gone")
        far.fetch(offset, length, into)

    cache = BlockCache(far.size, fetch)
    for length in (10, 3 * BLOCK):
        with pytest.raises(Malformed, match="gone"):
            cache.read(5, length)
    failing[0] = False
    assert cache.read(5, 3 * BLOCK) == far.bytes(5, 3 * BLOCK)


def test_a_long_read_fetches_only_missing_blocks():
    far = Far(DIRECT + 6 * BLOCK)
    cache = BlockCache(far.size, far.fetch, far.bytes(far.size - 2 * BLOCK, 2 * BLOCK))
    cache.read(0, 10)
    far.asked.clear()
    assert cache.read(3, far.size - 4) == far.bytes(3, far.size - 4)
    assert far.asked == [(BLOCK, far.size - 3 * BLOCK)]
