"""Whatever goes wrong, in whatever order: no good asset is lost, nothing unverified is published, every run ends."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fatwheel.errors import ReleaseRefused
from tests.fake_github.clock import VirtualClock
from tests.fake_github.faults import ASSET_FAULTS, JSON_FAULTS, RELEASE_FAULTS, UPLOAD_FAULTS, Fault
from tests.fake_github.server import Site
from tests.fake_github.workshop import check_server, make_files, run

pytestmark = pytest.mark.integration

SIZES = {"a.bin": 500, "b.bin": 90_000, "c.bin": 1_200_000}
NAMES = [*SIZES, "manifest.json", "SHA256SUMS"]

upload_faults = st.builds(
    Fault,
    kind=st.sampled_from([*UPLOAD_FAULTS, *ASSET_FAULTS, *RELEASE_FAULTS]),
    asset=st.sampled_from(NAMES),
    attempt=st.integers(0, 3),
    times=st.integers(1, 2),
    at=st.sampled_from([0.0, 0.3, 0.9]),
    seconds=st.sampled_from([1.0, 4.0, 8.0]),
)
other_faults = st.builds(
    Fault,
    kind=st.sampled_from([*JSON_FAULTS, "401", "403", "422", "500"]),
    route=st.sampled_from(
        ["create", "publish", "list", "delete", "rename", "find", "list-releases", "repository", "ref", "asset"]
    ),
    times=st.integers(1, 3),
    seconds=st.just(2.0),
)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(upload_faults, upload_faults, other_faults), max_size=8), st.integers(0, 1 << 16))
def test_runs_converge_and_never_harm(faults: list[Fault], seed: int) -> None:
    commit = "e" * 40
    with tempfile.TemporaryDirectory() as folder, Site(clock=VirtualClock(seed), faults=faults) as site:
        files = make_files(Path(folder), SIZES)
        held: dict[str, set[int]] = {}
        for _ in range(sum(fault.times for fault in faults)):  # each fault can hold up so many runs at most
            try:
                record = run(site, *files, commit=commit)
            except ReleaseRefused:
                record = None  # nothing was sent: a later run may
            else:
                check_server(site, record, files)
            good = {
                asset.name: asset.id
                for release in site.state.releases.values()
                for asset in release.assets.values()
                if asset.name in SIZES and asset.state == "uploaded" and asset.content == _content(files, asset.name)
            }
            for name, ids in held.items():
                assert good.get(name) in ids, f"{name} was there, and is lost or was sent again"
            # What a run has verified must stay, as the very asset that it is.
            for told in record.assets if record else []:
                if told.live and told.name in SIZES and told.name in good:
                    held.setdefault(told.name, {good[told.name]})
            if record and record.published and all(asset.live for asset in record.assets):
                return
        # By now all faults are used up.
        final = run(site, *files, commit=commit)
        check_server(site, final, files)
        assert final.published
        assert all(asset.live for asset in final.assets)


def _content(files: list[Path], name: str) -> bytes:
    return next(file for file in files if file.name == name).read_bytes()
