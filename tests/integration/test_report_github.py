"""Read the history of a GitHub repository over HTTP, including faults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fatwheel.records.manifest import Manifest, ManifestAsset
from fatwheel.report.history import read_history
from fatwheel.stores.store_errors import StoreFailure
from fatwheel.targets import dotted
from tests.fake_github.clock import VirtualClock
from tests.fake_github.faults import Fault
from tests.fake_github.server import Site
from tests.fake_github.state import UPLOADED
from tests.fake_github.workshop import open_site
from tests.unit.report.samples import build_record, cell

pytestmark = pytest.mark.integration


@pytest.fixture
def fake() -> Iterator[Site]:
    with Site(clock=VirtualClock()) as site:
        for day, size in ((1, 1000), (2, 1010), (3, 1030)):
            release = site.state.add_release(f"nightly-2026080{day}", draft=False)
            made = cell("cu130", "x86_64", "9.0a 12.0f", f"1.0.dev2026080{day}")
            site.state.add_asset(release, made.wheel, state=UPLOADED, size=size)
            about = ManifestAsset(name=made.wheel, size=size, sha256="0" * 64, build=build_record(made, size))
            manifest = Manifest(tag=release.tag, assets=[about])
            text = manifest.to_json().encode()
            site.state.add_asset(release, "manifest.json", state=UPLOADED, size=len(text), content=text)
        yield site


def test_sizes_targets_and_days_come_from_the_repository(fake: Site) -> None:
    history = read_history(open_site(fake))
    assert [snapshot.tag for snapshot in history.snapshots] == [
        "nightly-20260801", "nightly-20260802", "nightly-20260803",
    ]  # fmt: skip
    assert [snapshot.wheels[0].bytes for snapshot in history.snapshots] == [1000, 1010, 1030]
    assert {dotted(snapshot.wheels[0].targets or ()) for snapshot in history.snapshots} == {"9.0a 12.0f"}


def test_faults_and_limits_are_waited_for(fake: Site) -> None:
    said: list[str] = []
    fake.faults.add(
        [Fault("502-before", route="list-releases"), Fault("429", route="list"), Fault("rst", route="list")]
    )
    history = read_history(open_site(fake), clock=VirtualClock(), notify=said.append)
    assert len(history.snapshots) == 3
    assert fake.faults.seen == ["502-before", "429", "rst"]
    assert any("rate limited, retrying" in line for line in said)


def test_an_unreadable_repository_is_an_error(fake: Site) -> None:
    fake.faults.add([Fault("404", route="list-releases", times=0)])
    with pytest.raises(StoreFailure):
        read_history(open_site(fake), clock=VirtualClock())
