"""What tests of a release to the fake share: files, a run, and what must be true of the server afterwards."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from fatwheel.records.release import ReleaseRecord
from fatwheel.release.make_release import release
from fatwheel.release.request import ProgressListener, ReleaseRequest
from fatwheel.stores.github import GitHubStore, open_github
from fatwheel.stores.retry import RetryPolicy
from fatwheel.stores.upload_timeout import UploadLimits
from tests.fake_github.server import Site
from tests.fake_github.state import UPLOADED, Release

PATIENT = UploadLimits(connect=30, write=30, read=30, pool=30)
QUICK = UploadLimits(connect=30, write=2, read=2, pool=30)
"""Real seconds, only where something is made to stall: a busy machine must not look like a broken server."""


def make_files(folder: Path, sizes: dict[str, int]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, size in sizes.items():
        seed = hashlib.sha256(name.encode()).digest()
        (folder / name).write_bytes((seed * (size // len(seed) + 1))[:size])
        made.append(folder / name)
    return made


def open_site(site: Site, token: str = "secret-token") -> GitHubStore:
    limits = QUICK if site.faults.stalls() else PATIENT
    environment = {"GITHUB_TOKEN": token, "GITHUB_API_URL": site.api_url}
    return open_github(site.state.repository, environment, limits=limits, clock=site.clock)


def run(
    site: Site, *files: Path, policy: RetryPolicy | None = None, progress: ProgressListener | None = None, **asked: Any
) -> ReleaseRecord:
    request = ReleaseRequest(tag=asked.pop("tag", "v1"), files=files, **asked)
    return release(open_site(site), request, policy=policy, clock=site.clock, progress=progress)


def outcomes(record: ReleaseRecord) -> dict[str, str]:
    return {asset.name: asset.outcome for asset in record.assets}


def the_release(site: Site) -> Release:
    (only,) = site.state.releases.values()
    return only


def check_server(site: Site, record: ReleaseRecord, files: list[Path]) -> None:
    """What must hold after any run, whatever went wrong.

    What the record calls live is there with the right bytes; what is published is whole, right and nothing else; a
    file is never sent again once the server had all of it, unless the server itself kept other bytes. No record holds
    the token.
    """
    assert site.token not in record.to_json()
    digests = {file.name: f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files}
    for one in site.state.releases.values():
        there = {asset.name: asset for asset in one.assets.values()}
        assert len(there) == len(one.assets), "two assets of one name"
        for told in record.assets:
            if told.live:
                assert there[told.name].state == UPLOADED, told
                assert there[told.name].digest == f"sha256:{told.sha256}", told
        if not one.draft:
            for asset in there.values():
                assert asset.state == UPLOADED, "a half-upload was published"
                assert asset.digest == digests.get(asset.name, asset.digest), "wrong bytes were published"
                assert asset.name in outcomes(record), "published without having been wanted"
    assert record.published == any(not one.draft for one in site.state.releases.values())
