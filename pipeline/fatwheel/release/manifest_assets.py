"""The assets that describe all others and are uploaded last: ``manifest.json`` and ``SHA256SUMS``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from fatwheel.digests import Digest
from fatwheel.records.files import SUMS
from fatwheel.records.manifest import Absence, Manifest, ManifestAsset
from fatwheel.records.plan import Plan
from fatwheel.records.release import AssetRecord
from fatwheel.release.policy import GENERATED, TEMPORARY
from fatwheel.release.reconcile import ExpectedAsset
from fatwheel.release.sources import InputFile
from fatwheel.stores.remote import RemoteAsset


def expected_asset(name: str, data: bytes) -> ExpectedAsset:
    """Make an expected asset of generated data."""
    return ExpectedAsset(name, len(data), Digest.of(data), data)


def read_manifest(data: bytes) -> Manifest | None:
    """Parse the manifest of an earlier run. Returns None if the data is not a manifest."""
    try:
        return Manifest.model_validate_json(data)
    except ValidationError:
        return None


def make_manifest(
    *,
    tag: str,
    commit: str | None,
    plan: Plan | None,
    given: Mapping[str, InputFile],
    live: Sequence[RemoteAsset],
    absent: Sequence[AssetRecord],
    earlier: Manifest | None,
) -> Manifest:
    """Make the manifest of the uploaded assets, with the records of this run and, for other assets, of earlier runs."""
    before = {asset.name: asset for asset in earlier.assets} if earlier else {}
    assets = []
    for asset in sorted(live, key=lambda a: a.name):
        if asset.name in GENERATED or asset.name.endswith(TEMPORARY) or not asset.whole or asset.digest is None:
            continue
        sha256 = asset.digest
        old, new = before.get(asset.name), given.get(asset.name)
        if old and old.sha256 != sha256:
            old = None
        build = (new.build if new else None) or (old.build if old else None)
        smoke = (new.smoke if new else None) or (old.smoke if old else None)
        assets.append(ManifestAsset(name=asset.name, size=asset.size, sha256=sha256, build=build, smoke=smoke))
    there = {asset.name for asset in assets}
    gone = {gap.name: gap for gap in earlier.absent} if earlier else {}
    gone |= {r.name: Absence(name=r.name, outcome=r.outcome, reason=r.reason, elsewhere=r.elsewhere) for r in absent}
    return Manifest(
        tag=tag,
        commit=commit or (earlier.commit if earlier else None),
        plan=plan or (earlier.plan if earlier else None),
        assets=assets,
        absent=[gone[name] for name in sorted(gone) if name not in there],
    )


def make_sums(live: Sequence[RemoteAsset]) -> ExpectedAsset:
    """Make SHA256SUMS: a line for each other uploaded asset, in the format of ``sha256sum --check``."""
    lines = [
        f"{asset.digest}  {asset.name}\n"
        for asset in sorted(live, key=lambda a: a.name)
        if asset.name != SUMS and not asset.name.endswith(TEMPORARY) and asset.whole and asset.digest
    ]
    return expected_asset(SUMS, "".join(lines).encode())
