"""Reading a store: one row for each file that its published releases hold, and everything that is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from fatwheel.digests import Digest
from fatwheel.errors import VerificationError
from fatwheel.index.entries import Link, ReleaseAssets
from fatwheel.index.missing import missing, planned
from fatwheel.index.names import in_order, parse_name
from fatwheel.index.read_cache import IndexCache, Reading
from fatwheel.records.files import MANIFEST
from fatwheel.records.index import Index, IndexedFile, IndexState, Missing, NotPublished
from fatwheel.records.manifest import Manifest
from fatwheel.stores.remote import ReadableStore, RemoteAsset, RemoteRelease


@dataclass(frozen=True)
class PreviousIndex:
    """What the index held before this run: digests by file name, and the state that no store knows."""

    digests: Mapping[str, Digest] = field(default_factory=dict)
    state: IndexState = field(default_factory=IndexState)
    replaced: frozenset[str] = frozenset()  # file names that shall stand for their newest bytes


@dataclass(frozen=True)
class IndexContents:
    """The index as it should be, with its state; ``problems`` are errors, ``notes`` are not."""

    index: Index
    state: IndexState = field(default_factory=IndexState)
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class _Gathered:
    rows: dict[str, list[IndexedFile]] = field(default_factory=dict)  # by file name, the oldest release first
    absent: list[NotPublished] = field(default_factory=list)
    planned: dict[str, Sequence[Missing]] = field(default_factory=dict)  # by tag
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, tag: str, reading: Reading) -> None:
        """The rows and words of one release, which comes after those that are there."""
        for row in reading.rows:
            self.rows.setdefault(row.file, []).append(row)
        self.absent += reading.absent
        self.problems += reading.problems
        self.notes += reading.notes
        if reading.planned:
            self.planned[tag] = reading.planned


def read_store(
    store: ReadableStore, link: Link, known: IndexCache, before: PreviousIndex | None = None
) -> IndexContents:
    """What the published releases hold. Raises `StoreFailure` if the store cannot be read.

    A name stands for the bytes that it was first listed with: whoever has pinned its hash can go on. Other bytes are a
    problem, and left out, unless the name is replaced.
    """
    before = before or PreviousIndex()
    found = _Gathered()
    fresh: dict[str, tuple[str | None, Reading]] = {}
    for release in sorted((r for r in store.releases() if not r.draft), key=lambda r: (r.created, r.tag)):
        mark = store.mark(release)
        reading = known.reading(release.id, release.tag, mark)
        if reading is None:
            known.begin(release.id)
            reading = _read_release(store, release, link, known)
            known.end()
            fresh[release.id] = (mark, reading)
        found.add(release.tag, reading)
    rows: dict[str, IndexedFile] = {}
    digests: dict[str, Digest] = {}
    for file, held in found.rows.items():
        row = _settled(file, held, before, digests, found.problems)
        if row is not None:
            reason = before.state.yanked.get(file)
            rows[file] = row if reason == row.yanked else row.model_copy(update={"yanked": reason})
    for release_id, (mark, reading) in fresh.items():
        listed = all(row.file in rows and rows[row.file].tag == row.tag for row in reading.rows)
        if listed and not (reading.problems or reading.notes):
            known.keep_reading(release_id, mark, reading)
    found.problems += [f"{name}: nothing of that name is published" for name in sorted(before.replaced - set(rows))]
    ordered = in_order(rows.values())
    plain = [row for row in ordered if row.variant is None]
    wheels = [row for row in plain if row.file.endswith(".whl")]
    absent = [one for one in found.absent if one.file not in rows]
    return IndexContents(
        Index(
            wheels=wheels,
            sdists=[row for row in plain if not row.file.endswith(".whl")],
            variants=[row for row in ordered if row.variant is not None],
            absent=absent,
            missing=missing(wheels, found.planned, (one.file for one in absent)),
        ),
        IndexState(
            yanked=before.state.yanked,
            digests={name: digests.get(name) or before.state.digests[name] for name in _kept(digests, rows, before)},
        ),
        tuple(found.problems),
        tuple(found.notes),
    )


def _kept(digests: Mapping[str, Digest], rows: Mapping[str, IndexedFile], before: PreviousIndex) -> list[str]:
    """Names whose digest must outlive this run: the index itself does not tell it, or it was chosen by hand."""
    return sorted({*digests, *(name for name in before.state.digests if name not in rows)})


def _settled(
    file: str, held: list[IndexedFile], before: PreviousIndex, digests: dict[str, Digest], problems: list[str]
) -> IndexedFile | None:
    """The row that a name stands for; None where all of them have other bytes than it had before."""
    if file in before.replaced:
        chosen = held[-1]
        if len({row.sha256 for row in held}) > 1:
            digests[file] = chosen.sha256
        return chosen
    fixed = before.state.digests.get(file)
    if fixed is None and len(held) == 1 and before.digests.get(file, held[0].sha256) == held[0].sha256:
        return held[0]
    first = fixed or before.digests.get(file) or held[0].sha256
    place = next((place for place, row in enumerate(held) if row.sha256 == first), None)
    later = held if place is None else held[place:]
    for row in later:
        if row.sha256 == first:
            continue
        was = "the index listed before" if place is None else f"{held[place].tag}/{file} ({first.short})"
        follows = "so it is left out" if place is None else "which the index keeps"
        problems.append(
            f"{row.tag}/{file} ({row.sha256.short}) has other bytes than {was}, {follows}\n"
            f"  help: publish it under a new version, or take these with --replace {file}"
        )
    if place is None or (fixed and len({row.sha256 for row in held}) > 1):
        digests[file] = first
    return None if place is None else held[place]


def _read_release(store: ReadableStore, release: RemoteRelease, link: Link, known: IndexCache) -> Reading:
    assets = {asset.name: asset for asset in store.assets(release) if asset.whole}
    rows: list[IndexedFile] = []
    problems: list[str] = []
    notes: list[str] = []
    manifest = _manifest(store, release, assets.get(MANIFEST), notes) or Manifest(tag=release.tag)
    shelf = ReleaseAssets(store, release, link, known, assets, {one.name: one for one in manifest.assets})
    for asset in assets.values():
        try:
            name = parse_name(asset.name)
            row = shelf.row(asset, name) if name else None
        except VerificationError as error:
            problems.append(f"{release.tag}: {error}")
            continue
        if row is not None:
            rows.append(row)
    return Reading(
        rows=rows,
        absent=[
            NotPublished(file=one.name, tag=release.tag, outcome=one.outcome, reason=one.reason)
            for one in manifest.absent
        ],
        planned=planned(manifest.plan) if manifest.plan else [],
        problems=problems,
        notes=notes,
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
