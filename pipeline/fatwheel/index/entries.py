"""One row: everything that is known of a file, from the store, its release's manifest, and what is inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from fatwheel.digests import Digest
from fatwheel.errors import VerificationError
from fatwheel.index.names import FileName
from fatwheel.index.read_cache import IndexCache, WheelMetadata
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import EMBEDDED, METADATA
from fatwheel.records.index import IndexedFile, Proof
from fatwheel.records.manifest import ManifestAsset
from fatwheel.records.smoke import SmokeRecord
from fatwheel.stores.directory import DirectoryStore
from fatwheel.stores.remote import ReadableStore, RemoteAsset, RemoteRelease
from fatwheel.wheels.formats.wheel_name import version_of
from fatwheel.wheels.reading.read_embedded import parse_embedded

if TYPE_CHECKING:
    from fatwheel.wheels.reading.archive import Archive

_SMALL = 1 << 20  # bytes; what is smaller is read once and held

Link = Callable[[RemoteRelease, RemoteAsset], str]  # the URL under which an asset is found


@dataclass(frozen=True)
class ReleaseAssets:
    """One published release: its whole assets, and what its manifest tells of them, both by name."""

    store: ReadableStore
    release: RemoteRelease
    link: Link
    known: IndexCache
    assets: dict[str, RemoteAsset]
    told: dict[str, ManifestAsset]
    held: dict[str, bytes] = field(default_factory=dict)  # small files that were read for their digests

    def row(self, asset: RemoteAsset, name: FileName) -> IndexedFile:
        """All that is known of a file. Raises `VerificationError` for one that pip would refuse."""
        sha256 = self._digest(asset)
        about = self.told.get(asset.name)
        if about is not None and about.sha256 != sha256:
            about = None  # the manifest speaks of other bytes
        metadata = self.assets.get(asset.name + METADATA)
        metadata_sha256 = self._digest(metadata) if metadata else None
        built = about.build if about else None
        wheel = self._wheel(asset, sha256, alone=metadata is None) if built is None or metadata is None else None
        header = self._metadata(metadata, metadata_sha256) if metadata and metadata_sha256 else wheel
        if header is not None:
            _check(header, name)
        facts = _built(about) if built else _stamp(wheel, asset.name)
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
            requires_python=header and header.requires_python,
            requires_dist=header.requires_dist if header else [],
            metadata_sha256=metadata_sha256,
            placeholder=bool(facts and facts.placeholder),
            slice=facts and facts.slice,
            variant=name.variant,
            proof=_proof(about.smoke) if about and about.smoke else None,
        )

    def _digest(self, asset: RemoteAsset) -> Digest:
        """sha256: the store's word, else the manifest's for a file of that size, else from reading it."""
        told = self.told.get(asset.name)
        if asset.digest is not None:
            return asset.digest
        if told is not None and told.size == asset.size:
            return told.sha256
        before = self.known.digest(asset)
        if before is not None:
            return before
        if asset.size > _SMALL:
            sha256 = self.store.digest(asset)
        else:
            data = self.held[asset.id] = b"".join(self.store.read(asset))
            sha256 = Digest.of(data)
        self.known.keep_digest(asset, sha256)
        return sha256

    def _metadata(self, asset: RemoteAsset, sha256: Digest) -> WheelMetadata:
        """What a wheel's METADATA says that is a file of its own."""
        held = self.known.inside(sha256)
        if held is None:
            data = self.held.pop(asset.id, None)
            held = _header(b"".join(self.store.read(asset)) if data is None else data)
            self.known.keep_inside(sha256, held)
        return held

    def _wheel(self, asset: RemoteAsset, sha256: Digest, *, alone: bool) -> WheelMetadata | None:
        """What is inside a wheel that lies on this machine, METADATA too if it stands ``alone``; None for others.

        Raises `VerificationError`.
        """
        if not isinstance(self.store, DirectoryStore) or not asset.name.endswith(".whl"):
            return None
        held = self.known.inside(sha256)
        if held is None or (alone and not held.name):
            from fatwheel.wheels.io.byte_sources import BytesSource
            from fatwheel.wheels.reading.archive import Archive

            data = self.held.pop(asset.id, None)
            path = self.store.root / asset.id
            with Archive.open(path) if data is None else Archive(BytesSource(data), asset.name) as archive:
                held = _opened(archive, ("METADATA", EMBEDDED) if alone else (EMBEDDED,))
            self.known.keep_inside(sha256, held)
        return held


def _opened(archive: Archive, names: Sequence[str]) -> WheelMetadata:
    folder, members = archive.dist_info, archive.by_name
    texts = {name: archive.read(members[f"{folder}/{name}"]) for name in names if f"{folder}/{name}" in members}
    header = _header(texts["METADATA"]) if "METADATA" in texts else WheelMetadata()
    stamp = texts[EMBEDDED].decode("utf-8", "replace") if EMBEDDED in texts else None
    return WheelMetadata(header.name, header.version, header.requires_python, header.requires_dist, stamp)


def _header(text: bytes) -> WheelMetadata:
    """The fields of METADATA that an index needs; they stand before its first empty line, one a line."""
    fields: dict[str, list[str]] = {}
    for line in text.decode("utf-8", "replace").splitlines():
        if not line.strip():
            break
        name, _, value = line.partition(":")
        fields.setdefault(name.lower(), []).append(value.strip())
    name, version, python = (fields.get(key, [""])[0] for key in ("name", "version", "requires-python"))
    return WheelMetadata(name, version, python or None, fields.get("requires-dist", []))


def _check(said: WheelMetadata, name: FileName) -> None:
    """Raise `VerificationError` if METADATA names another project or version than the file's name: pip refuses it."""
    alike = name.file.split("-", 2)[1] == said.version or version_of(said.version) == name.version
    if not (alike and canonicalize_name(said.name) == name.project):
        raise VerificationError(
            f"METADATA says {said.name} {said.version}, the file's name {name.project} {name.version}",
            where=name.file,
            help="build it with that version; renaming a wheel does not change what is inside",
        )


def _stamp(wheel: WheelMetadata | None, file: str) -> EmbeddedMetadata | None:
    """What fatwheel wrote into a wheel, if it did."""
    if wheel is None or wheel.stamp is None:
        return None
    return parse_embedded(wheel.stamp, file, invalid="raise")


def _built(about: ManifestAsset | None) -> EmbeddedMetadata | None:
    """The same, from a build record in the manifest."""
    build = about.build if about else None
    if build is None:
        return None
    stamp = EmbeddedMetadata.of(build.cell, commit=build.commit, modules=build.slice)
    return stamp.model_copy(update={"placeholder": build.placeholder})


def _proof(smoke: SmokeRecord) -> Proof:
    return Proof(
        import_=smoke.import_.outcome,
        gpu=smoke.gpu.outcome if smoke.gpu else None,
        device=smoke.device.name if smoke.device else None,
        executed=smoke.executed,
        not_executed=smoke.not_executed,
    )
