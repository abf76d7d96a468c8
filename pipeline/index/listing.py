"""Reading a store: one row for each file that its published releases hold, and everything that is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from email.parser import BytesHeaderParser
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from pydantic import ValidationError

from pipeline.errors import VerificationError
from pipeline.index.names import FileName, parse_name
from pipeline.records.index import IndexedFile, NotPublished, Proof
from pipeline.records.manifest import Manifest, ManifestAsset
from pipeline.records.smoke import SmokeRecord
from pipeline.records.stamp import WheelStamp
from pipeline.stores.directory import DirectoryStore
from pipeline.stores.remote import ReadableStore, RemoteAsset, RemoteRelease
from pipeline.wheels.archive import Archive

METADATA = ".metadata"
MANIFEST = "manifest.json"

Link = Callable[[RemoteRelease, RemoteAsset], str]  # the URL under which an asset is found


@dataclass(frozen=True)
class Listing:
    """Rows by file name, each once; ``problems`` are errors, ``notes`` are not."""

    wheels: tuple[IndexedFile, ...]
    sdists: tuple[IndexedFile, ...]
    absent: tuple[NotPublished, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass
class _Gathered:
    rows: dict[str, IndexedFile] = field(default_factory=dict)
    absent: list[NotPublished] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_store(store: ReadableStore, link: Link) -> Listing:
    """What the published releases hold, the oldest first. Raises `StoreFailure` if the store cannot be read.

    A name that a later release has with other bytes stays that of the first: whoever has pinned its hash can go on.
    """
    found = _Gathered()
    for release in sorted((r for r in store.releases() if not r.draft), key=lambda r: (r.created, r.tag)):
        _read_release(store, release, link, found)
    rows = sorted(found.rows.values(), key=lambda row: (row.project, Version(row.version), row.file))
    present = set(found.rows)
    return Listing(
        wheels=tuple(row for row in rows if row.file.endswith(".whl")),
        sdists=tuple(row for row in rows if not row.file.endswith(".whl")),
        absent=tuple(one for one in found.absent if one.file not in present),
        problems=tuple(found.problems),
        notes=tuple(found.notes),
    )


def _read_release(store: ReadableStore, release: RemoteRelease, link: Link, found: _Gathered) -> None:
    assets = {asset.name: asset for asset in store.assets(release) if asset.whole}
    manifest = _manifest(store, release, assets.get(MANIFEST), found.notes)
    held = _Release(store, release, link, assets, {asset.name: asset for asset in manifest.assets} if manifest else {})
    for absence in manifest.absent if manifest else []:
        found.absent.append(
            NotPublished(file=absence.name, tag=release.tag, outcome=absence.outcome, reason=absence.reason)
        )
    for asset in assets.values():
        try:
            name = parse_name(asset.name)
            row = held.row(asset, name) if name else None
        except VerificationError as error:
            found.problems.append(f"{release.tag}: {error}")
            continue
        if row is None:
            continue
        first = found.rows.setdefault(row.file, row)
        if first.sha256 != row.sha256:
            found.problems.append(
                f"{release.tag}/{row.file} ({row.sha256[:12]}) has other bytes than {first.tag}/{row.file} "
                f"({first.sha256[:12]}), which the index keeps\n  do: publish it under a new version"
            )


def _manifest(
    store: ReadableStore, release: RemoteRelease, asset: RemoteAsset | None, notes: list[str]
) -> Manifest | None:
    if asset is None:
        return None
    try:
        return Manifest.model_validate_json(b"".join(store.read(asset)))
    except ValidationError:
        notes.append(f"{release.tag}/{MANIFEST} is not a manifest of fatwheel's: what it says is not used")
        return None


@dataclass(frozen=True)
class _Release:
    """One published release: its whole assets, and what its manifest tells of them, both by name."""

    store: ReadableStore
    release: RemoteRelease
    link: Link
    assets: dict[str, RemoteAsset]
    told: dict[str, ManifestAsset]

    def row(self, asset: RemoteAsset, name: FileName) -> IndexedFile:
        """All that is known of a file. Raises `VerificationError` for one that pip would refuse."""
        sha256 = self._digest(asset)
        about = self.told.get(asset.name)
        if about is not None and about.sha256 != sha256:
            about = None  # the manifest speaks of other bytes
        metadata = self.assets.get(asset.name + METADATA)
        wheel = _Wheel(self.store, asset)
        header = self._header(metadata, wheel, name)
        facts = _facts(about, wheel)
        return IndexedFile(
            file=asset.name,
            project=name.project,
            version=str(name.version),
            nightly=name.nightly,
            page=name.pages[-1],
            cuda=(facts and facts.cuda) or name.cuda,
            toolkit=facts and facts.toolkit,
            arch=(facts and facts.arch) or name.arch,
            family=(facts and facts.family) or name.family,
            targets=facts and facts.targets,
            covers=facts and facts.covers,
            bytes=asset.size,
            sha256=sha256,
            url=self.link(self.release, asset),
            tag=self.release.tag,
            requires_python=header.get("Requires-Python"),
            metadata_sha256=self._digest(metadata) if metadata else None,
            placeholder=bool(facts and facts.placeholder),
            slice=facts and facts.slice,
            proof=_proof(about.smoke) if about and about.smoke else None,
        )

    def _digest(self, asset: RemoteAsset) -> str:
        """sha256: the store's word, else the manifest's for a file of that size, else from reading it."""
        told = self.told.get(asset.name)
        if asset.digest is None and told is not None and told.size == asset.size:
            return told.sha256
        return (asset.digest or self.store.digest(asset)).removeprefix("sha256:")

    def _header(self, metadata: RemoteAsset | None, wheel: _Wheel, name: FileName) -> dict[str, str]:
        """The headers of METADATA, from the file of its own or from inside a wheel that lies on this machine.

        Raises `VerificationError` if they name another project or version than the file's name: pip would refuse it.
        """
        text = b"".join(self.store.read(metadata)) if metadata else wheel.read("METADATA")
        if text is None:
            return {}
        header = dict(BytesHeaderParser().parsebytes(text).items())
        said = (header.get("Name", ""), header.get("Version", ""))
        if (canonicalize_name(said[0]), _version(said[1])) != (name.project, name.version):
            raise VerificationError(
                f"METADATA says {' '.join(said)}, the file's name {name.project} {name.version}",
                where=name.file,
                remedy="build it with that version; renaming a wheel does not change what is inside",
            )
        return header


def _proof(smoke: SmokeRecord) -> Proof:
    return Proof(
        import_=smoke.import_.outcome,
        gpu=smoke.gpu.outcome if smoke.gpu else None,
        device=smoke.device.name if smoke.device else None,
        executed=smoke.executed,
        not_executed=smoke.not_executed,
    )


def _facts(about: ManifestAsset | None, wheel: _Wheel) -> WheelStamp | None:
    """What is known of a wheel: from its build record in the manifest, else from the stamp inside."""
    if about is None or about.build is None:
        return wheel.stamp()
    build = about.build
    return WheelStamp(
        distribution=build.cell.package,
        version=build.cell.full_version,
        cuda=build.cell.cuda,
        toolkit=build.cell.toolkit,
        arch=build.cell.arch,
        family=build.cell.family,
        targets=build.cell.targets,
        covers=build.cell.covers,
        commit=build.commit,
        slice=build.slice,
        placeholder=build.placeholder,
    )


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


class _Wheel:
    """The inside of a wheel that lies in a folder here; for one that does not, everything is None."""

    def __init__(self, store: ReadableStore, asset: RemoteAsset) -> None:
        local = isinstance(store, DirectoryStore) and asset.name.endswith(".whl")
        self._path: Path | None = store.root / asset.id if local and isinstance(store, DirectoryStore) else None

    def read(self, name: str) -> bytes | None:
        """A file of the dist-info folder. Raises `VerificationError` for what is no readable wheel."""
        if self._path is None:
            return None
        with Archive.open(self._path) as archive:
            member = archive.by_name.get(f"{archive.dist_info}/{name}")
            return archive.read(member) if member else None

    def stamp(self) -> WheelStamp | None:
        """What fatwheel wrote into it, if it did."""
        text = self.read("fatwheel.json")
        if text is None:
            return None
        try:
            return WheelStamp.model_validate(json.loads(text))
        except ValueError as error:
            raise VerificationError(
                f"its fatwheel.json cannot be read: {error}", where=self._path.name if self._path else None,
                remedy="build the wheel again",
            ) from None  # fmt: skip
