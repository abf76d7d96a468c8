"""What was read before and is as it was: whole releases, digests of files, and what is inside them.

It saves reading, and decides nothing: without it an index has the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fatwheel.digests import Digest
from fatwheel.index.document import INDEX, mark, read_document, written_document
from fatwheel.records.base import write_atomically
from fatwheel.records.index import IndexedFile, Missing, NotPublished
from fatwheel.stores.remote import RemoteAsset

_FORM = 2  # of the files; another one is not read
_RELEASES = "releases.json"


@dataclass(frozen=True)
class WheelMetadata:
    """What a wheel or its METADATA says: name and version, what it requires, and fatwheel's stamp as JSON."""

    name: str = ""  # empty where METADATA was not read
    version: str = ""
    requires_python: str | None = None
    requires_dist: list[str] = field(default_factory=list)
    stamp: str | None = None


@dataclass(frozen=True)
class Reading:
    """All that one release gave. ``planned``: each wheel that its plan names."""

    rows: Sequence[IndexedFile] = ()
    absent: Sequence[NotPublished] = ()
    planned: Sequence[Missing] = ()
    problems: Sequence[str] = ()
    notes: Sequence[str] = ()


class IndexCache:
    """The readings of one store, and the index that is in ``output``. ``folder`` keeps them; None keeps nothing.

    With another index.json than was written last, or with links made in another way (``links``), whole releases are
    read again. Files that cannot be read are made anew. Raises `UsageError` for an index.json that cannot be read.
    """

    def __init__(self, output: Path, folder: Path | None = None, links: str = "") -> None:
        self._folder = folder
        self._links = links
        held = _load(folder / _RELEASES) if folder else {}
        data = (output / INDEX).read_bytes() if held and (output / INDEX).is_file() else b""
        same = bool(data) and held.get("index") == self._mark(data)
        self.index = written_document(data) if same else read_document(output)
        self._releases: dict[str, dict[str, Any]] = held["releases"] if same else {}
        self._held = held
        self._kept: dict[str, dict[str, Any]] = {}
        self._by_tag: dict[str, list[IndexedFile]] = defaultdict(list)
        if same:
            for row in self.index.rows:
                self._by_tag[row.tag].append(row)
        self._told: dict[str, IndexedFile] | None = None
        self._files: _Files | None = None

    def _mark(self, data: bytes) -> str:
        return f"{mark(data)} {self._links}"

    def reading(self, release_id: str, tag: str, mark: str | None) -> Reading | None:
        """What a release gave that has this mark still."""
        held = self._releases.get(release_id)
        if mark is None or held is None or held["mark"] != mark:
            return None
        self._kept[release_id] = held
        return Reading(
            rows=self._by_tag[tag],
            absent=[NotPublished(**one) for one in held["absent"]],
            planned=[Missing(**one) for one in held["planned"]],
        )

    def keep_reading(self, release_id: str, mark: str | None, reading: Reading) -> None:
        """Note that a release gave nothing but rows that the index lists, and what its manifest told."""
        if mark is not None:
            self._kept[release_id] = {
                "mark": mark,
                "absent": [one.model_dump() for one in reading.absent],
                "planned": [one.model_dump() for one in reading.planned],
            }

    def begin(self, release_id: str) -> None:
        """Turn to a release whose files are to be read."""
        self.end()
        self._files = _Files(self._folder / f"r-{quote(release_id, safe='')}.json" if self._folder else None)

    def end(self) -> None:
        """Write down what was read of the release at hand."""
        if self._files:
            self._files.save()
        self._files = None

    def digest(self, asset: RemoteAsset) -> Digest | None:
        """sha256 of a file that is as it was when it was read."""
        return self._files.digest(asset) if self._files else None

    def keep_digest(self, asset: RemoteAsset, sha256: Digest) -> None:
        """Note what reading a file gave."""
        if self._files and asset.changed is not None:
            self._files.digests[asset.id] = [asset.size, asset.changed, sha256]

    def inside(self, sha256: Digest) -> WheelMetadata | None:
        """What a file of this digest says: it was read before, or the index that is there tells."""
        held = self._files.before_inside.get(sha256) if self._files else None
        if held is not None and self._files:
            inside = WheelMetadata(**held)
            self._files.inside[sha256] = inside
            return inside
        if self._told is None:
            self._told = {row.metadata_sha256: row for row in self.index.rows if row.metadata_sha256}
        row = self._told.get(sha256)
        if row is None or "requires_dist" not in row.model_fields_set:
            return None
        return WheelMetadata(row.project, row.version, row.requires_python, row.requires_dist)

    def keep_inside(self, sha256: Digest, inside: WheelMetadata) -> None:
        """Note what a file said."""
        if self._files:
            self._files.inside[sha256] = inside

    def save(self, data: bytes) -> None:
        """Write down which releases need not be read again with this index.json; forget those that are gone."""
        if self._folder is None:
            return
        held = {"form": _FORM, "index": self._mark(data), "releases": self._kept}
        if held != self._held:
            write_atomically(self._folder / _RELEASES, json.dumps(held, separators=(",", ":")).encode())
        for gone in self._held.get("releases", {}).keys() - self._kept.keys():
            (self._folder / f"r-{quote(gone, safe='')}.json").unlink(missing_ok=True)


class _Files:
    """What is known of the files of one release."""

    def __init__(self, place: Path | None) -> None:
        self.place = place
        self.held = _load(place) if place else {}
        self.before: dict[str, list[Any]] = self.held.get("digests", {})
        self.before_inside: dict[str, dict[str, Any]] = self.held.get("inside", {})
        self.digests: dict[str, list[Any]] = {}
        self.inside: dict[str, WheelMetadata] = {}

    def digest(self, asset: RemoteAsset) -> Digest | None:
        held = self.before.get(asset.id)
        if asset.changed is None or held is None or held[:2] != [asset.size, asset.changed]:
            return None
        self.digests[asset.id] = held
        return Digest.from_api(held[2])

    def save(self) -> None:
        inside = {sha256: vars(one) for sha256, one in self.inside.items()}
        now = {"form": _FORM, "digests": self.digests, "inside": inside}
        if self.place and (self.digests or inside) and now != self.held:
            self.place.parent.mkdir(parents=True, exist_ok=True)
            self.place.write_text(json.dumps(now, separators=(",", ":")))  # half of it would not be read as JSON


def _load(place: Path) -> dict[str, Any]:
    try:
        held = json.loads(place.read_bytes())
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) and held.get("form") == _FORM else {}


def known_place(cache: Path | None, spec: str) -> Path | None:
    """Where in fatwheel's cache the readings of a store are kept."""
    return cache / "index" / hashlib.sha256(spec.encode()).hexdigest()[:16] if cache else None
