"""A folder as a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from fatwheel.errors import UsageError
from fatwheel.stores import open_store
from fatwheel.stores.body import Body
from fatwheel.stores.directory import DirectoryStore
from fatwheel.stores.store_errors import FailureKind, StoreFailure


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(tmp_path / "s")


def test_a_store_is_opened_by_its_spec(tmp_path: Path) -> None:
    assert open_store(f"dir:{tmp_path}").spec == f"dir:{tmp_path}"
    for bad in ("", "dir:", "s3:bucket", str(tmp_path), "github:", "github:owner"):
        with pytest.raises(UsageError):
            open_store(bad)


def test_an_empty_store_holds_no_releases(store: DirectoryStore) -> None:
    assert store.releases() == ()
    assert store.find("v1") == ()


def test_a_draft_becomes_a_release_by_a_rename(store: DirectoryStore) -> None:
    draft = store.create_draft("v1", commit=None, title="", notes="")
    made = store.upload(draft, "a.bin", Body(b"abc", 3))
    assert (made.name, made.size, made.whole) == ("a.bin", 3, True)
    live = store.publish(draft, commit=None, notes=None)
    assert not live.draft
    (asset,) = store.assets(live)
    assert b"".join(store.read(asset)) == b"abc"
    assert store.digest(asset) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_publishing_onto_a_release_adds_and_overwrites_nothing(store: DirectoryStore) -> None:
    first = store.publish(store.create_draft("v1", commit=None, title="", notes=""), commit=None, notes=None)
    store.upload(first, "a.bin", Body(b"old", 3))
    draft = store.create_draft("v1", commit=None, title="", notes="")
    store.upload(draft, "a.bin", Body(b"new", 3))
    store.upload(draft, "b.bin", Body(b"b", 1))
    live = store.publish(draft, commit=None, notes=None)
    assert {a.name: b"".join(store.read(a)) for a in store.assets(live)} == {"a.bin": b"old", "b.bin": b"b"}
    assert [r.id for r in store.releases()] == ["v1"]


def test_a_broken_off_write_is_a_half_upload(store: DirectoryStore) -> None:
    draft = store.create_draft("v1", commit=None, title="", notes="")

    def stop(_taken: int) -> None:
        raise StoreFailure("enough", FailureKind.RELEASE)

    with pytest.raises(StoreFailure):
        store.upload(draft, "a.bin", Body(bytes(3 << 20), 3 << 20, stop))
    (left,) = store.assets(draft)
    assert (left.name, left.whole) == ("a.bin", False)
    store.upload(draft, "a.bin", Body(b"abc", 3))
    assert [(a.name, a.whole) for a in store.assets(draft)] == [("a.bin", True)]


def test_a_taken_name_is_told(store: DirectoryStore) -> None:
    draft = store.create_draft("v1", commit=None, title="", notes="")
    one = store.upload(draft, "a.bin", Body(b"1", 1))
    store.upload(draft, "b.bin", Body(b"2", 1))
    with pytest.raises(StoreFailure) as caught:
        store.upload(draft, "a.bin", Body(b"3", 1))
    assert caught.value.kind is FailureKind.TAKEN
    with pytest.raises(StoreFailure):
        store.rename(draft, one, "b.bin")
    assert {a.name: b"".join(store.read(a)) for a in store.assets(draft)} == {"a.bin": b"1", "b.bin": b"2"}


def test_a_release_can_be_removed(store: DirectoryStore) -> None:
    live = store.publish(store.create_draft("v1", commit=None, title="", notes=""), commit=None, notes=None)
    store.delete_release(live)
    assert store.find("v1") == ()
    assert list(store.root.iterdir()) == []


def test_a_store_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"file: cannot create the store: File exists"):
        DirectoryStore(tmp_path / "file").create_draft("v1", commit=None, title="", notes="")
