"""A release to a folder: what goes up, what is withheld, and what a second run does."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest

from fatwheel.digests import file_digest
from fatwheel.errors import ReleaseRefused, UsageError
from fatwheel.records.manifest import Manifest
from fatwheel.records.release import ReleaseRecord
from fatwheel.release.asset_selection import select_assets
from fatwheel.release.make_release import release
from fatwheel.release.request import ReleaseRequest
from fatwheel.release.sources import collect_files
from fatwheel.stores.directory import DirectoryStore
from tests.unit.release.wheels import (
    FAMILIES,
    make_plan,
    make_wheel,
    record_build,
    record_smoke,
    sparse,
    wheel_name,
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(tmp_path / "store")


def run(store: DirectoryStore, *files: Path, **asked: object) -> ReleaseRecord:
    return release(store, ReleaseRequest(tag="v1.0", files=files, **asked))  # type: ignore[arg-type]


def outcomes(record: ReleaseRecord) -> dict[str, str]:
    return {asset.name: asset.outcome for asset in record.assets}


def reasons(record: ReleaseRecord) -> dict[str, str]:
    return {asset.name: asset.reason for asset in record.assets if not asset.live}


def test_wheels_go_up_with_metadata_manifest_and_sums(store: DirectoryStore, tmp_path: Path) -> None:
    wheels = [make_wheel(tmp_path / "dist", family) for family in FAMILIES]
    record = run(store, *wheels)
    assert record.published
    live = store.root / "v1.0"
    for wheel in wheels:
        assert (live / wheel.name).read_bytes() == wheel.read_bytes()
        assert (live / f"{wheel.name}.metadata").read_bytes().startswith(b"Metadata-Version: 2.1")
    assert set(outcomes(record).values()) == {"uploaded"}
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=live, check=True, capture_output=True)
    manifest = Manifest.read(live / "manifest.json")
    assert [a.name for a in manifest.assets if a.name.endswith(".whl")] == sorted(w.name for w in wheels)


def test_a_second_run_sends_nothing(store: DirectoryStore, tmp_path: Path) -> None:
    wheels = [make_wheel(tmp_path / "dist", family) for family in FAMILIES]
    run(store, *wheels)
    again = run(store, *wheels)
    assert set(outcomes(again).values()) == {"identical"}
    assert sum(asset.bytes_sent for asset in again.assets) == 0


def test_an_oversized_wheel_is_withheld_unread_and_the_rest_is_published(store: DirectoryStore, tmp_path: Path) -> None:
    good = make_wheel(tmp_path / "dist", "sm9x")
    fat = sparse(tmp_path / "dist" / wheel_name("sm12x"), 2147483648)
    fat.chmod(0)  # whoever opens it fails, unless root
    record = run(store, good, fat)
    assert record.published
    assert outcomes(record)[good.name] == "uploaded"
    assert outcomes(record)[fat.name] == "withheld"
    told = next(asset for asset in record.assets if asset.name == fat.name)
    assert (told.attempts, told.bytes_sent, told.sha256) == (0, 0, None)
    assert "must be under 2,147,483,648" in told.reason
    assert not (store.root / "v1.0" / fat.name).exists()


def test_one_byte_under_the_limit_passes(store: DirectoryStore, tmp_path: Path) -> None:
    file = sparse(tmp_path / "a.bin", 1000)
    assert outcomes(run(store, file, size_limit=1001))[file.name] == "uploaded"
    other = sparse(tmp_path / "b.bin", 1001)
    assert outcomes(run(store, other, size_limit=1001))[other.name] == "withheld"


def test_a_wheel_whose_smoke_test_failed_is_withheld(store: DirectoryStore, tmp_path: Path) -> None:
    good, bad = (make_wheel(tmp_path / "dist", family) for family in ("sm9x", "sm12x"))
    record_smoke(good)
    record_smoke(bad, "failed", "libcudart.so.13 is missing")
    record = run(store, good, bad)
    assert reasons(record) == {bad.name: "smoke test failed: libcudart.so.13 is missing"}


def test_a_wheel_that_is_not_what_was_built_is_withheld(store: DirectoryStore, tmp_path: Path) -> None:
    good, bad = (make_wheel(tmp_path / "dist", family) for family in ("sm9x", "sm12x"))
    record_build(good, "sm9x")
    record_build(bad, "sm12x", sha256="0" * 64)
    record = run(store, good, bad)
    assert "differs from the one that was built" in reasons(record)[bad.name]
    assert outcomes(record)[good.name] == "uploaded"


def test_slices_are_welcome_in_a_folder(store: DirectoryStore, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "dist", "sm9x")
    record_build(wheel, "sm9x", slice=["page"])
    record = run(store, wheel)
    assert outcomes(record)[wheel.name] == "uploaded"
    assert record.notes == [f"{wheel.name} is a partial wheel with only page"]


def test_a_placeholder_in_a_folder_is_called_so(store: DirectoryStore, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "dist", "sm9x")
    record_build(wheel, "sm9x", placeholder=True)
    assert run(store, wheel).notes == [f"{wheel.name} is a placeholder wheel, without code"]


def test_a_folder_stands_for_its_wheels_and_records_are_no_assets(store: DirectoryStore, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "dist", "sm9x")
    record_build(wheel, "sm9x")
    record_smoke(wheel)
    from_folder = run(store, tmp_path / "dist")
    from_glob = run(store, *sorted((tmp_path / "dist").iterdir()))
    assert list(outcomes(from_folder)) == list(outcomes(from_glob))
    manifest = Manifest.read(store.root / "v1.0" / "manifest.json")
    entry = next(a for a in manifest.assets if a.name == wheel.name)
    assert entry.build
    assert entry.smoke


def test_a_planned_wheel_that_did_not_come_is_missing(store: DirectoryStore, tmp_path: Path) -> None:
    wheels = [make_wheel(tmp_path / "dist", family) for family in FAMILIES[:2]]
    record = run(store, *wheels, plan=make_plan())
    assert outcomes(record)[wheel_name("sm12x")] == "missing"
    assert record.published
    gap = Manifest.read(store.root / "v1.0" / "manifest.json").absent
    assert [(g.name, g.outcome) for g in gap] == [(wheel_name("sm12x"), "missing")]


def test_the_missing_wheel_alone_completes_the_release(store: DirectoryStore, tmp_path: Path) -> None:
    first, second, third = (make_wheel(tmp_path / "dist", family) for family in FAMILIES)
    for wheel, family in ((first, "sm9x"), (second, "sm10x"), (third, "sm12x")):
        record_build(wheel, family)
    run(store, first, second, plan=make_plan())
    record = run(store, third, plan=make_plan())
    assert all(asset.live for asset in record.assets)
    assert outcomes(record)[first.name] == "identical"
    assert outcomes(record)["manifest.json"] == "replaced"
    manifest = Manifest.read(store.root / "v1.0" / "manifest.json")
    assert not manifest.absent
    assert len([a for a in manifest.assets if a.build]) == 3
    subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=store.root / "v1.0", check=True, capture_output=True)


def test_a_complete_release_is_published_only_whole(store: DirectoryStore, tmp_path: Path) -> None:
    first, second, third = (make_wheel(tmp_path / "dist", family) for family in FAMILIES)
    record = run(store, first, second, plan=make_plan("complete"))
    assert not record.published
    assert (store.root / ".draft-v1.0" / first.name).exists()
    record = run(store, first, second, third, plan=make_plan("complete"))
    assert record.published
    assert outcomes(record)[first.name] == "identical"
    assert not (store.root / ".draft-v1.0").exists()


def test_a_wheel_that_nobody_planned_is_withheld(store: DirectoryStore, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "dist", "sm8x")
    good = make_wheel(tmp_path / "dist", "sm9x")
    assert reasons(run(store, wheel, good, plan=make_plan()))[wheel.name] == "not in the plan"


def test_other_bytes_under_a_published_name_are_a_conflict(store: DirectoryStore, tmp_path: Path) -> None:
    old = make_wheel(tmp_path / "one", "sm9x")
    run(store, old)
    new, other = make_wheel(tmp_path / "two", "sm9x", payload="; changed = 1"), make_wheel(tmp_path / "two", "sm12x")
    record = run(store, new, other)
    assert outcomes(record)[new.name] == "conflict"
    assert outcomes(record)[other.name] == "uploaded"
    assert (store.root / "v1.0" / old.name).read_bytes() == old.read_bytes()


def test_replace_names_what_may_be_replaced(store: DirectoryStore, tmp_path: Path) -> None:
    old = make_wheel(tmp_path / "one", "sm9x")
    run(store, old)
    new = make_wheel(tmp_path / "two", "sm9x", payload="; changed = 1")
    record = run(store, new, replace=frozenset({new.name}))
    assert outcomes(record)[new.name] == "replaced"
    assert (store.root / "v1.0" / new.name).read_bytes() == new.read_bytes()
    assert not list((store.root / "v1.0").glob("*.replacing"))


def test_a_draft_of_the_same_commit_takes_newer_bytes(store: DirectoryStore, tmp_path: Path) -> None:
    old = make_wheel(tmp_path / "one", "sm9x")
    new = make_wheel(tmp_path / "two", "sm9x", payload="; changed = 1")
    run(store, old, commit="a" * 40, draft=True)
    assert outcomes(run(store, new, commit="a" * 40, draft=True))[new.name] == "replaced"


def test_a_draft_of_another_commit_is_refused(store: DirectoryStore, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "one", "sm9x")
    run(store, wheel, commit="a" * 40, draft=True)
    with pytest.raises(ReleaseRefused, match="belongs to commit aaaaaaaaaaaa, not bbbbbbbbbbbb"):
        run(store, wheel, commit="b" * 40)


def test_a_held_draft_is_not_published(store: DirectoryStore, tmp_path: Path) -> None:
    record = run(store, make_wheel(tmp_path / "dist", "sm9x"), draft=True)
    assert not record.published
    assert all(asset.live for asset in record.assets)
    assert not (store.root / "v1.0").exists()


def test_what_a_killed_run_left_is_cleared(store: DirectoryStore, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "dist", "sm9x")
    run(store, wheel, draft=True, commit="a" * 40)
    draft = store.root / ".draft-v1.0"
    (draft / wheel.name).rename(draft / f".part-{wheel.name}")
    (draft / ".part-gone.whl").write_bytes(b"half")
    record = run(store, wheel, commit="a" * 40)
    assert outcomes(record)[wheel.name] == "uploaded"
    assert record.published
    assert not list((store.root / "v1.0").glob(".part-*"))


def test_a_dry_run_changes_nothing(store: DirectoryStore, tmp_path: Path) -> None:
    record = run(store, make_wheel(tmp_path / "dist", "sm9x"), dry_run=True)
    assert {a.outcome for a in record.assets} == {"not-sent"}
    assert not store.root.exists()


def test_all_that_is_wrong_with_the_files_is_said_at_once(store: DirectoryStore, tmp_path: Path) -> None:
    bad = sparse(tmp_path / "x y.bin", 1)
    one, two = make_wheel(tmp_path / "one", "sm9x"), make_wheel(tmp_path / "two", "sm9x")
    with pytest.raises(UsageError) as caught:
        run(store, bad, one, two, tmp_path / "nothing.whl")
    text = str(caught.value)
    assert "x y.bin: GitHub would rename it" in text
    assert "same name as" in text
    assert "nothing.whl: not found" in text
    assert not store.root.exists()


@pytest.mark.parametrize(
    "name", ["a b.whl", "torch-1!2.0.whl", ".hidden", "a..b", "end.", "ü.whl", "a:b", "manifest.json", "SHA256SUMS"]
)
def test_names_that_would_not_stay_are_refused(store: DirectoryStore, tmp_path: Path, name: str) -> None:
    with pytest.raises(ReleaseRefused):
        run(store, sparse(tmp_path / name, 1))


def test_the_asset_limit_counts_everything(store: DirectoryStore, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "dist", "sm9x")
    live = store.root / "v1.0"
    live.mkdir(parents=True)
    for number in range(995):
        (live / f"old-{number}.bin").write_bytes(b"x")
    run(store, wheel)  # 995 + wheel + metadata + manifest + sums = 999, and one place for a swap
    extra = sparse(tmp_path / "one-more.bin", 1)
    with pytest.raises(ReleaseRefused, match="the limit is 1,000"):
        run(store, extra)


@pytest.mark.parametrize("tag", ["", ".", "..", "../up", "a/b", ".hidden", "a\0b"])
def test_a_tag_cannot_leave_the_folder(store: DirectoryStore, tmp_path: Path, tag: str) -> None:
    wheel = make_wheel(tmp_path / "dist", "sm9x")
    with pytest.raises(UsageError):
        release(store, ReleaseRequest(tag=tag, files=(wheel,)))


def test_nothing_to_send_is_a_refusal(store: DirectoryStore, tmp_path: Path) -> None:
    fat = sparse(tmp_path / "fat.whl", 2147483648)
    with pytest.raises(ReleaseRefused, match="must be under"):
        run(store, fat)
    assert not store.root.exists()


def test_a_sparse_file_stays_sparse(store: DirectoryStore, tmp_path: Path) -> None:
    file = sparse(tmp_path / "holes.bin", 64 << 20)
    run(store, file)
    copy = (store.root / "v1.0" / "holes.bin").stat()
    assert copy.st_size == 64 << 20
    assert copy.st_blocks * 512 < 1 << 20


def test_equal_inputs_make_equal_bytes(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "dist", "sm9x")
    record_build(wheel, "sm9x")
    stores = [DirectoryStore(tmp_path / name) for name in ("one", "two")]
    for store in stores:
        run(store, wheel, plan=make_plan())
    for name in ("manifest.json", "SHA256SUMS"):
        one, two = ((store.root / "v1.0" / name).read_bytes() for store in stores)
        assert one == two


def test_the_record_is_json_with_one_outcome_an_asset(store: DirectoryStore, tmp_path: Path) -> None:
    document = json.loads(run(store, make_wheel(tmp_path / "dist", "sm9x")).to_json())
    assert {"tag", "published", "assets"} <= document.keys()
    assert {"name", "outcome", "attempts", "bytes_sent", "reason"} <= document["assets"][0].keys()


def test_a_wheel_without_metadata_goes_up_and_that_is_said(store: DirectoryStore, tmp_path: Path) -> None:
    good = make_wheel(tmp_path / "dist", FAMILIES[0])
    bare = tmp_path / "dist" / wheel_name(FAMILIES[1])
    bare.write_bytes(b"no archive")
    record = run(store, good, bare)
    assert outcomes(record)[bare.name] == "uploaded"
    assert f"{bare.name}.metadata" not in outcomes(record)
    assert record.notes == [f"cannot read METADATA of {bare.name}: uploaded without a .metadata asset"]
    assert run(store, good, bare, metadata=False).notes == [f"1 other asset in the release: {good.name}.metadata"]


def test_odd_things_in_the_list_are_told_all_at_once(store: DirectoryStore, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    wheel = make_wheel(tmp_path / "dist", FAMILIES[0])
    wheel.with_name(wheel.name + ".build.json").write_text("{")
    odd = [tmp_path / name for name in ("loop", "dangling", "empty", "pipe", "missing.whl")]
    with pytest.raises(UsageError) as told:
        run(store, *odd, wheel)
    expected = (
        "loop: ", "dangling: not found", "empty: no wheel or sdist in this folder", "pipe: not a regular file",
        "missing.whl: not found", "invalid BuildRecord",
    )  # fmt: skip
    for words in expected:
        assert words in str(told.value)
    assert not store.root.exists()


def test_links_are_what_they_lead_to(store: DirectoryStore, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "dist", FAMILIES[0])
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / wheel.name
    link.symlink_to(wheel)
    folder = tmp_path / "folder"
    folder.symlink_to(tmp_path / "dist")
    assert outcomes(run(store, link, folder))[wheel.name] == "uploaded"
    assert (store.root / "v1.0" / wheel.name).read_bytes() == wheel.read_bytes()
    assert not (store.root / "v1.0" / wheel.name).is_symlink()


@pytest.mark.parametrize(
    ("size", "outcome"), [(2147483647, "uploaded"), (2147483648, "withheld"), (2147483649, "withheld"), (0, "withheld")]
)
def test_the_limit_is_where_it_is_said_to_be(store: DirectoryStore, tmp_path: Path, size: int, outcome: str) -> None:
    given, _ = collect_files([sparse(tmp_path / "a.bin", size)])
    judged = select_assets(given, ReleaseRequest("v1", ()), store.rules())
    assert [len(judged.accepted), len(judged.refused)] == ([1, 0] if outcome == "uploaded" else [0, 1])


def test_a_file_that_cannot_be_read_is_withheld_and_the_rest_goes_up(
    store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, plain = sparse(tmp_path / "secret.bin", 10), sparse(tmp_path / "plain.bin", 10)

    def may(path: Path) -> str:
        if path == secret:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return file_digest(path)

    monkeypatch.setattr("fatwheel.release.asset_selection.file_digest", may)
    record = run(store, secret, plain)
    assert outcomes(record)["plain.bin"] == "uploaded"
    assert outcomes(record)["secret.bin"] == "withheld"
    assert reasons(record)["secret.bin"] == "cannot read: Permission denied"
