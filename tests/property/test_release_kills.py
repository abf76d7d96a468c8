"""A process that dies between any two requests: what was good stays, and the next run finishes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fatwheel.release.make_release import release
from fatwheel.release.request import ReleaseRequest
from fatwheel.stores.directory import DirectoryStore
from tests.fake_github.clock import VirtualClock
from tests.fake_github.workshop import make_files

COMMIT = "f" * 40
WRITES = ("create_draft", "upload", "rename", "delete", "publish")


class Killed(BaseException):
    """The process is gone."""


class Mortal:
    """A store whose caller dies at the given write, before it or after it."""

    def __init__(self, store: DirectoryStore, at: int, *, after: bool) -> None:
        self.store = store
        self.left = at
        self.after = after

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.store, name)
        if name not in WRITES:
            return method

        def call(*arguments: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left < 0:  # the dead write no more
                raise Killed
            if self.left == 0 and not self.after:
                raise Killed
            result = method(*arguments, **options)
            if self.left == 0:
                raise Killed
            return result

        return call


def kills() -> Iterator[tuple[int, bool]]:
    for at in range(1, 15):
        for after in (False, True):
            yield at, after


@pytest.mark.parametrize(("at", "after"), list(kills()))
@pytest.mark.parametrize("replacing", [False, True])
def test_any_death_is_survived(tmp_path: Path, at: int, after: bool, replacing: bool) -> None:
    store = DirectoryStore(tmp_path / "store")
    old = make_files(tmp_path / "old", {"a.bin": 100, "b.bin": 200, "c.bin": 300})
    new = make_files(tmp_path / "new", {"a.bin": 111, "b.bin": 222, "c.bin": 333})
    clock = VirtualClock()
    if replacing:
        release(store, ReleaseRequest("v1", tuple(old), commit=COMMIT, draft=True), clock=clock)
    mortal: Any = Mortal(store, at, after=after)
    with contextlib.suppress(Killed):
        release(mortal, ReleaseRequest("v1", tuple(new), commit=COMMIT), clock=clock)
    if replacing:
        for before, newer in zip(old, new, strict=True):
            there = {file.read_bytes() for place in store.root.iterdir() for file in place.glob(f"{before.name}*")}
            assert there & {before.read_bytes(), newer.read_bytes()}, f"{before.name} is lost"
    done = release(store, ReleaseRequest("v1", tuple(new), commit=COMMIT), clock=clock)
    assert done.published
    assert all(asset.live for asset in done.assets)
    live = {file.name: file.read_bytes() for file in (store.root / "v1").iterdir() if not file.name.startswith(".")}
    assert {file.name: file.read_bytes() for file in new}.items() <= live.items()
    assert set(live) == {"a.bin", "b.bin", "c.bin", "manifest.json", "SHA256SUMS"}
    assert not (store.root / ".draft-v1").exists()
