"""Cache unchanged data of a store: whole releases, digests of files, and their metadata.

The cache only saves time: an index built without it is identical. A cache that cannot be written is not an error.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fatwheel.atomic import write_atomically
from fatwheel.digests import Digest
from fatwheel.index.atomic_write import INDEX
from fatwheel.index.document import fingerprint, read_document, read_own_document
from fatwheel.records.index import IndexedFile, Missing, NotPublished
from fatwheel.stores.remote import RemoteAsset

_FORMAT = 3  # of the cache files; files of another format are ignored
_RELEASES = "releases.json"


@dataclass(frozen=True)
class WheelMetadata:
    """Metadata of a wheel: name, version and requirements from METADATA, and the embedded metadata as JSON text."""

    name: str = ""  # empty if METADATA was not read
    version: str = ""
    requires_python: str | None = None
    requires_dist: list[str] = field(default_factory=list)
    embedded: str | None = None


@dataclass(frozen=True)
class ReleaseContents:
    """The contents of one release, as index entries. ``planned``: the wheels of its plan."""

    entries: Sequence[IndexedFile] = ()
    absent: Sequence[NotPublished] = ()
    planned: Sequence[Missing] = ()
    errors: Sequence[str] = ()
    notes: Sequence[str] = ()


class IndexCache:
    """The cached contents of one store, and the index in ``output``. ``folder`` stores the cache; None disables it.

    Releases are read again if index.json is not the one written last, or if ``links`` (how links are made) changed.
    Invalid cache files are ignored. Raises `UsageError` for an invalid index.json.
    """

    def __init__(self, output: Path, folder: Path | None = None, links: str = "") -> None:
        self._folder = folder
        self._links = links
        held = _load(folder / _RELEASES) if folder else {}
        data = (output / INDEX).read_bytes() if held and (output / INDEX).is_file() else b""
        same = bool(data) and held.get("index") == self._fingerprint(data)
        self.index = read_own_document(data) if same else read_document(output)
        self._releases: dict[str, dict[str, Any]] = held["releases"] if same else {}
        self._held = held
        self._kept: dict[str, dict[str, Any]] = {}
        self._by_tag: dict[str, list[IndexedFile]] = defaultdict(list)
        if same:
            for entry in self.index.entries:
                self._by_tag[entry.tag].append(entry)
        self._by_metadata_digest: dict[str, IndexedFile] | None = None
        self._files: _Files | None = None
        self.warning: str | None = None  # why the cache could not be written

    def _fingerprint(self, data: bytes) -> str:
        return f"{fingerprint(data)} {self._links}"

    def get_release(self, release_id: str, tag: str, mark: str | None) -> ReleaseContents | None:
        """Return the cached contents of a release if its ``mark`` is unchanged."""
        held = self._releases.get(release_id)
        if mark is None or held is None or held["mark"] != mark:
            return None
        self._kept[release_id] = held
        return ReleaseContents(
            entries=self._by_tag[tag],
            absent=[NotPublished(**one) for one in held["absent"]],
            planned=[Missing(**one) for one in held["planned"]],
        )

    def keep_release(self, release_id: str, mark: str | None, contents: ReleaseContents) -> None:
        """Cache a release whose entries are all in the index, with its absent and planned files."""
        if mark is not None:
            self._kept[release_id] = {
                "mark": mark,
                "absent": [one.model_dump() for one in contents.absent],
                "planned": [one.model_dump() for one in contents.planned],
            }

    def begin_release(self, release_id: str) -> None:
        """Begin reading the files of a release."""
        self.end_release()
        self._files = _Files(self._folder / f"r-{quote(release_id, safe='')}.json" if self._folder else None)

    def end_release(self) -> None:
        """Store what was read of the current release."""
        if self._files:
            self._write(self._files.save)
        self._files = None

    def get_digest(self, asset: RemoteAsset) -> Digest | None:
        """Return the cached digest of an unchanged asset."""
        return self._files.digest(asset) if self._files else None

    def keep_digest(self, asset: RemoteAsset, sha256: Digest) -> None:
        """Cache the digest of an asset."""
        if self._files and asset.changed is not None:
            self._files.digests[asset.id] = [asset.size, asset.changed, sha256]

    def get_metadata(self, sha256: Digest) -> WheelMetadata | None:
        """Return the metadata of a file with this digest, from the cache or from the previous index."""
        held = self._files.previous_metadata.get(sha256) if self._files else None
        if held is not None and self._files:
            metadata = WheelMetadata(**held)
            self._files.metadata[sha256] = metadata
            return metadata
        if self._by_metadata_digest is None:
            self._by_metadata_digest = {
                entry.metadata_sha256: entry for entry in self.index.entries if entry.metadata_sha256
            }
        entry = self._by_metadata_digest.get(sha256)
        if entry is None or "requires_dist" not in entry.model_fields_set:
            return None
        return WheelMetadata(entry.project, entry.version, entry.requires_python, entry.requires_dist)

    def keep_metadata(self, sha256: Digest, metadata: WheelMetadata) -> None:
        """Cache the metadata of a file."""
        if self._files:
            self._files.metadata[sha256] = metadata

    def save(self, data: bytes) -> None:
        """Store which releases match this index.json, and delete the cache files of removed releases."""
        if self._folder is None:
            return
        folder, held = self._folder, {"format": _FORMAT, "index": self._fingerprint(data), "releases": self._kept}
        if held != self._held:
            self._write(lambda: write_atomically(folder / _RELEASES, json.dumps(held, separators=(",", ":")).encode()))
        for gone in self._held.get("releases", {}).keys() - self._kept.keys():
            file = folder / f"r-{quote(gone, safe='')}.json"
            self._write(partial(file.unlink, missing_ok=True))

    def _write(self, write: Callable[[], None]) -> None:
        """Write to the cache; after the first failure, keep nothing more."""
        if self.warning is not None:
            return
        try:
            write()
        except OSError as error:
            self.warning = f"cannot write the cache in {self._folder}: {error.strerror}; continuing without it"


class _Files:
    """The cached files of one release."""

    def __init__(self, place: Path | None) -> None:
        self.place = place
        self.held = _load(place) if place else {}
        self.previous: dict[str, list[Any]] = self.held.get("digests", {})
        self.previous_metadata: dict[str, dict[str, Any]] = self.held.get("metadata", {})
        self.digests: dict[str, list[Any]] = {}
        self.metadata: dict[str, WheelMetadata] = {}

    def digest(self, asset: RemoteAsset) -> Digest | None:
        held = self.previous.get(asset.id)
        if asset.changed is None or held is None or held[:2] != [asset.size, asset.changed]:
            return None
        self.digests[asset.id] = held
        return Digest.from_api(held[2])

    def save(self) -> None:
        metadata = {sha256: vars(one) for sha256, one in self.metadata.items()}
        now = {"format": _FORMAT, "digests": self.digests, "metadata": metadata}
        if self.place and (self.digests or metadata) and now != self.held:
            self.place.parent.mkdir(parents=True, exist_ok=True)
            self.place.write_text(
                json.dumps(now, separators=(",", ":"))
            )  # a partial file is invalid JSON and is ignored


def _load(place: Path) -> dict[str, Any]:
    try:
        cached = json.loads(place.read_bytes())
    except (OSError, ValueError):
        return {}
    return cached if isinstance(cached, dict) and cached.get("format") == _FORMAT else {}


def find_cache_folder(cache: Path | None, spec: str) -> Path | None:
    """Return the folder for a store below fatwheel's cache folder."""
    return cache / "index" / hashlib.sha256(spec.encode()).hexdigest()[:16] if cache else None
