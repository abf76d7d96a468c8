"""Status, publishing a held draft, and retention."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fatwheel.commands import prune, publish, status
from fatwheel.errors import ReleaseIncomplete, ReleaseRefused
from fatwheel.release.inspection import Inspector
from fatwheel.release.make_release import release
from fatwheel.release.request import ReleaseRequest
from fatwheel.release.retention import RetentionPolicy, find_expired, make_tag_pattern
from fatwheel.stores.directory import DirectoryStore
from fatwheel.stores.remote import RemoteRelease
from tests.unit.release.wheels import FAMILIES, make_plan, make_wheel, record_build, wheel_name

NOW = dt.datetime(2026, 9, 1, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def no_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(tmp_path / "store")


def put(store: DirectoryStore, tmp_path: Path, families: tuple[str, ...] = FAMILIES, **asked: object) -> None:
    wheels = [make_wheel(tmp_path / "dist", family) for family in families]
    for wheel, family in zip(wheels, families, strict=True):
        record_build(wheel, family)
    release(store, ReleaseRequest("v1", tuple(wheels), **asked))  # type: ignore[arg-type]


def outcomes(store: DirectoryStore, **asked: object) -> dict[str, str]:
    record = Inspector(store).look("v1", **asked).record  # type: ignore[arg-type]
    return {asset.name: asset.outcome for asset in record.assets}


def test_a_whole_release_is_as_planned(store: DirectoryStore, tmp_path: Path) -> None:
    put(store, tmp_path, plan=make_plan())
    assert set(outcomes(store).values()) == {"identical"}


def test_what_is_planned_and_not_there_is_missing(store: DirectoryStore, tmp_path: Path) -> None:
    put(store, tmp_path, FAMILIES[:2])
    assert outcomes(store, plan=make_plan())[wheel_name(FAMILIES[2])] == "missing"


def test_the_manifests_own_plan_counts(store: DirectoryStore, tmp_path: Path) -> None:
    put(store, tmp_path, FAMILIES[:2], plan=make_plan())
    assert outcomes(store)[wheel_name(FAMILIES[2])] == "missing"


def test_bytes_that_changed_are_found(store: DirectoryStore, tmp_path: Path) -> None:
    put(store, tmp_path)
    (store.root / "v1" / wheel_name(FAMILIES[0])).write_bytes(b"other")
    assert outcomes(store)[wheel_name(FAMILIES[0])] == "conflict"


def test_a_held_draft_is_published(store: DirectoryStore, tmp_path: Path) -> None:
    put(store, tmp_path, plan=make_plan("complete"), draft=True)
    assert Inspector(store).publish("v1").published
    assert (store.root / "v1" / wheel_name(FAMILIES[0])).exists()
    assert "already published" in Inspector(store).publish("v1").notes


def test_an_incomplete_draft_is_published_only_if_that_is_said(store: DirectoryStore, tmp_path: Path) -> None:
    put(store, tmp_path, FAMILIES[:2], plan=make_plan("complete"))
    assert not Inspector(store).publish("v1").published
    assert Inspector(store).publish("v1", partial=True).published


def test_a_spoilt_draft_is_never_published(store: DirectoryStore, tmp_path: Path) -> None:
    put(store, tmp_path, draft=True)
    (store.root / ".draft-v1" / wheel_name(FAMILIES[0])).write_bytes(b"other")
    record = Inspector(store).publish("v1", partial=True)
    assert not record.published
    assert "differs from the manifest" in record.notes[-1]


def test_no_draft_is_a_refusal(store: DirectoryStore) -> None:
    with pytest.raises(ReleaseRefused, match="no draft of v1 found"):
        Inspector(store).publish("v1")


def test_the_commands_end_with_the_right_status(store: DirectoryStore, tmp_path: Path) -> None:
    at = ["--store", f"dir:{store.root}", "--tag", "v1"]
    assert isinstance(CliRunner().invoke(status.command, at).exception, ReleaseIncomplete)
    put(store, tmp_path, draft=True)
    shown = CliRunner().invoke(status.command, [*at, "--json"])
    assert shown.exit_code == 0
    assert json.loads(shown.stdout)["published"] is False
    assert CliRunner().invoke(publish.command, at).exit_code == 0
    assert CliRunner().invoke(status.command, at).exit_code == 0


def nightly(days: int, draft: bool = False) -> RemoteRelease:
    day = NOW - dt.timedelta(days=days)
    return RemoteRelease(f"{days}", f"nightly-{day:%Y%m%d}", draft, created=day.isoformat())


@pytest.mark.parametrize(
    ("releases", "days", "going"),
    [
        (3, None, [3, 4, 5, 6, 7, 8, 9]),
        (None, 5, [6, 7, 8, 9]),
        (3, 5, [6, 7, 8, 9]),
        (8, 5, [8, 9]),
        (None, None, []),
        (100, None, []),
    ],
)
def test_one_goes_only_if_every_bound_says_so(releases: int | None, days: int | None, going: list[int]) -> None:
    found = find_expired(
        [nightly(n) for n in range(10)], RetentionPolicy("nightly-{date}", releases, days), NOW.timestamp()
    )
    assert [int(r.id) for r in found.expired] == going


def test_the_newest_drafts_and_other_tags_stay() -> None:
    others = [RemoteRelease("x", "v1.0", False, created="2020-01-01T00:00:00+00:00"), nightly(400, draft=True)]
    found = find_expired([nightly(300), *others], RetentionPolicy("nightly-{date}", None, 1), NOW.timestamp())
    assert not found.expired
    assert [r.id for r in found.kept] == ["300"]


def test_an_unknown_age_is_no_reason_to_go() -> None:
    unknown = [RemoteRelease(str(n), f"nightly-2026010{n}", False) for n in range(5)]
    assert not find_expired(unknown, RetentionPolicy("nightly-{date}", None, 1), NOW.timestamp()).expired


def test_tags_are_told_by_the_channels_form() -> None:
    pattern = make_tag_pattern("flashinfer-v{version}")
    assert pattern.fullmatch("flashinfer-v0.6.13.dev20260901")
    assert not pattern.fullmatch("flashinfer-nightly-20260901")
    assert not pattern.fullmatch("v0.6.13")


def test_pruning_takes_releases_and_index_rows_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = DirectoryStore(tmp_path / "store")
    for day in ("20260901", "20260902", "20260903"):
        wheel = make_wheel(tmp_path / day, "sm9x", version=f"1.0.dev{day}")
        release(store, ReleaseRequest(f"nightly-{day}", (wheel,)))
    (tmp_path / "matrix.yaml").write_text(MATRIX)
    asked = ["--channel", "nightly", "--store", "dir:store", "--index", "index", "--base-url", "https://x.example/d"]
    told = CliRunner().invoke(prune.command, asked)
    assert "would delete nightly-20260901" in told.output, told.exception
    assert len(store.releases()) == 3
    assert not (tmp_path / "index").exists()
    done = CliRunner().invoke(prune.command, [*asked, "--apply", "--json"])
    assert done.exit_code == 0, done.exception
    assert json.loads(done.stdout)["removed"] == ["nightly-20260901"]
    assert [r.tag for r in store.releases()] == ["nightly-20260903", "nightly-20260902"]
    text = (tmp_path / "index" / "index.json").read_text()
    assert "dev20260903" in text
    assert "dev20260901" not in text


MATRIX = """
version: "1.0"
packages:
  - name: demo
    import: demo
    per: []
    source: {checkout: .}
    tag: py3-none
    build: {kind: wheel, command: ["{python}", "-m", "build"]}
channels:
  release: {tag: "v{version}"}
  nightly: {tag: "nightly-{date}", retention: {releases: 2}}
"""
