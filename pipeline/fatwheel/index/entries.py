"""Create index entries from the store, the manifest of the release, and the contents of the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from packaging.utils import canonicalize_name

from fatwheel.digests import Digest
from fatwheel.errors import VerificationError
from fatwheel.index.file_names import FileName
from fatwheel.index.read_cache import IndexCache, WheelMetadata
from fatwheel.records.build import BuildRecord
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import EMBEDDED, METADATA
from fatwheel.records.index import IndexedFile, Proof
from fatwheel.records.manifest import ManifestAsset
from fatwheel.records.smoke import SmokeRecord
from fatwheel.stores.remote import ReadableStore, RemoteAsset, RemoteRelease
from fatwheel.wheels.formats.wheel_name import parse_version
from fatwheel.wheels.io.byte_sources import BytesSource
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.read_embedded import parse_embedded

_SMALL = 1 << 20  # bytes; smaller files are read once and kept in memory

Link = Callable[[RemoteRelease, RemoteAsset], str]  # returns the URL of an asset


@dataclass(frozen=True)
class ReleaseAssets:
    """A published release: its complete assets, and their records in its manifest, both by name."""

    store: ReadableStore
    release: RemoteRelease
    link: Link
    cache: IndexCache
    assets: dict[str, RemoteAsset]
    recorded: dict[str, ManifestAsset]
    contents: dict[str, bytes] = field(default_factory=dict)  # small files that were read for their digests, by ID

    def make_entry(self, asset: RemoteAsset, name: FileName) -> IndexedFile:
        """Create the entry of a file. Raises `VerificationError` if pip would reject the file."""
        sha256 = self._digest(asset)
        record = self.recorded.get(asset.name)
        if record is not None and record.sha256 != sha256:
            record = None  # the manifest describes a different file of this name
        metadata = self.assets.get(asset.name + METADATA)
        metadata_sha256 = self._digest(metadata) if metadata else None
        built = record.build if record else None
        wheel = self._read_wheel(asset, sha256, alone=metadata is None) if built is None or metadata is None else None
        header = self._read_metadata_asset(metadata, metadata_sha256) if metadata and metadata_sha256 else wheel
        if header is not None:
            _check_metadata(header, name)
        embedded = _from_build_record(built) if built else _parse_stamp(wheel, asset.name)
        return IndexedFile(
            file=asset.name,
            project=name.project,
            version=str(name.version),
            nightly=name.nightly,
            page=name.pages[-1],
            cuda=(embedded and embedded.cuda) or name.cuda,
            toolkit=embedded and embedded.toolkit,
            arch=(embedded and embedded.arch) or name.arch,
            family=(embedded and embedded.family) or name.family,
            targets=embedded and embedded.targets,
            covers=embedded and embedded.covers,
            bytes=asset.size,
            sha256=sha256,
            url=self.link(self.release, asset),
            tag=self.release.tag,
            requires_python=header and header.requires_python,
            requires_dist=header.requires_dist if header else [],
            metadata_sha256=metadata_sha256,
            placeholder=bool(embedded and embedded.placeholder),
            slice=embedded and embedded.slice,
            variant=name.variant,
            proof=_test_result(record.smoke) if record and record.smoke else None,
        )

    def _digest(self, asset: RemoteAsset) -> Digest:
        """Return the digest from the store, the manifest (if the size matches), the cache, or the contents."""
        record = self.recorded.get(asset.name)
        if asset.digest is not None:
            return asset.digest
        if record is not None and record.size == asset.size:
            return record.sha256
        cached = self.cache.get_digest(asset)
        if cached is not None:
            return cached
        if asset.size > _SMALL:
            sha256 = self.store.digest(asset)
        else:
            data = self.contents[asset.id] = b"".join(self.store.read(asset))
            sha256 = Digest.of(data)
        self.cache.keep_digest(asset, sha256)
        return sha256

    def _read_metadata_asset(self, asset: RemoteAsset, sha256: Digest) -> WheelMetadata:
        """Read the METADATA asset of a wheel."""
        metadata = self.cache.get_metadata(sha256)
        if metadata is None:
            data = self.contents.pop(asset.id, None)
            metadata = _parse_metadata(b"".join(self.store.read(asset)) if data is None else data)
            self.cache.keep_metadata(sha256, metadata)
        return metadata

    def _read_wheel(self, asset: RemoteAsset, sha256: Digest, *, alone: bool) -> WheelMetadata | None:
        """Read the embedded metadata of a local wheel, and METADATA if it has no asset (``alone``); None for others.

        Raises `VerificationError`.
        """
        path = self.store.local_path(asset)
        if path is None or not asset.name.endswith(".whl"):
            return None
        metadata = self.cache.get_metadata(sha256)
        if metadata is None or (alone and not metadata.name):
            data = self.contents.pop(asset.id, None)
            with Archive.open(path) if data is None else Archive(BytesSource(data), asset.name) as archive:
                metadata = _read_members(archive, ("METADATA", EMBEDDED) if alone else (EMBEDDED,))
            self.cache.keep_metadata(sha256, metadata)
        return metadata


def _read_members(archive: Archive, names: Sequence[str]) -> WheelMetadata:
    """Read these files of the .dist-info folder; missing ones are skipped."""
    folder, members = archive.dist_info, archive.by_name
    texts = {name: archive.read(members[f"{folder}/{name}"]) for name in names if f"{folder}/{name}" in members}
    header = _parse_metadata(texts["METADATA"]) if "METADATA" in texts else WheelMetadata()
    embedded = texts[EMBEDDED].decode("utf-8", "replace") if EMBEDDED in texts else None
    return WheelMetadata(header.name, header.version, header.requires_python, header.requires_dist, embedded)


def _parse_metadata(text: bytes) -> WheelMetadata:
    """Parse the METADATA fields that an index needs. Fields end at the first empty line; none of these is folded."""
    fields: dict[str, list[str]] = {}
    for line in text.decode("utf-8", "replace").splitlines():
        if not line.strip():
            break
        name, _, value = line.partition(":")
        fields.setdefault(name.lower(), []).append(value.strip())
    name, version, python = (fields.get(key, [""])[0] for key in ("name", "version", "requires-python"))
    return WheelMetadata(name, version, python or None, fields.get("requires-dist", []))


def _check_metadata(metadata: WheelMetadata, name: FileName) -> None:
    """Raise `VerificationError` if METADATA and file name differ in project or version; pip rejects such wheels."""
    same_version = name.file.split("-", 2)[1] == metadata.version or parse_version(metadata.version) == name.version
    if not (same_version and canonicalize_name(metadata.name) == name.project):
        raise VerificationError(
            f"METADATA contains {metadata.name} {metadata.version}, but the file name {name.project} {name.version}",
            where=name.file,
            help="rebuild it with that version; renaming a wheel does not change its metadata",
        )


def _parse_stamp(wheel: WheelMetadata | None, file: str) -> EmbeddedMetadata | None:
    """Parse the embedded metadata of a wheel; None if it has none. Raises `VerificationError`."""
    if wheel is None or wheel.embedded is None:
        return None
    return parse_embedded(wheel.embedded, file, invalid="raise")


def _from_build_record(build: BuildRecord) -> EmbeddedMetadata:
    """Return the embedded metadata of a wheel from its build record."""
    embedded = EmbeddedMetadata.of(build.cell, commit=build.commit, modules=build.slice)
    return embedded.model_copy(update={"placeholder": build.placeholder})


def _test_result(smoke: SmokeRecord) -> Proof:
    return Proof(
        import_=smoke.import_.outcome,
        gpu=smoke.gpu.outcome if smoke.gpu else None,
        device=smoke.device.name if smoke.device else None,
        executed=smoke.executed,
        not_executed=smoke.not_executed,
    )
