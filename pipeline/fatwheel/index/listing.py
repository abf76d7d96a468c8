"""List the files of a store's published releases as index entries, with all errors in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from fatwheel.digests import Digest
from fatwheel.errors import VerificationError
from fatwheel.index.entries import Link, ReleaseAssets
from fatwheel.index.file_names import parse_file_name, sort_entries
from fatwheel.index.missing import find_missing, list_planned
from fatwheel.index.read_cache import IndexCache, ReleaseContents
from fatwheel.records.files import MANIFEST
from fatwheel.records.index import Index, IndexedFile, IndexState, Missing, NotPublished
from fatwheel.records.manifest import Manifest
from fatwheel.stores.remote import ReadableStore, RemoteAsset, RemoteRelease


@dataclass(frozen=True)
class PreviousIndex:
    """The index before this run: digests by file name, and the state that the store does not contain."""

    digests: Mapping[str, Digest] = field(default_factory=dict)
    state: IndexState = field(default_factory=IndexState)
    replaced: frozenset[str] = frozenset()  # names of files whose contents may change


@dataclass(frozen=True)
class IndexContents:
    """The new index with its state, and messages about its files."""

    index: Index
    state: IndexState = field(default_factory=IndexState)
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class _Collected:
    entries: dict[str, list[IndexedFile]] = field(default_factory=dict)  # by file name, the oldest release first
    absent: list[NotPublished] = field(default_factory=list)
    planned: dict[str, Sequence[Missing]] = field(default_factory=dict)  # by tag
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, tag: str, contents: ReleaseContents) -> None:
        """Add the contents of a release; releases are added oldest first."""
        for entry in contents.entries:
            self.entries.setdefault(entry.file, []).append(entry)
        self.absent += contents.absent
        self.errors += contents.errors
        self.notes += contents.notes
        if contents.planned:
            self.planned[tag] = contents.planned


def read_store(
    store: ReadableStore, link: Link, cache: IndexCache, before: PreviousIndex | None = None
) -> IndexContents:
    """List the files of all published releases. Raises `StoreFailure` if the store cannot be read.

    A name stays bound to the contents that were first listed, because users may have pinned the hash. Other contents
    are an error and are excluded, unless the name is in ``before.replaced``.
    """
    before = before or PreviousIndex()
    found = _Collected()
    read: dict[str, tuple[str | None, ReleaseContents]] = {}
    for release in sorted((r for r in store.releases() if not r.draft), key=lambda r: (r.created, r.tag)):
        mark = store.mark(release)
        contents = cache.get_release(release.id, release.tag, mark)
        if contents is None:
            cache.begin_release(release.id)
            contents = _read_release(store, release, link, cache)
            cache.end_release()
            read[release.id] = (mark, contents)
        found.add(release.tag, contents)
    entries: dict[str, IndexedFile] = {}
    digests: dict[str, Digest] = {}
    for file, held in found.entries.items():
        entry = _choose_entry(file, held, before, digests, found.errors)
        if entry is not None:
            reason = before.state.yanked.get(file)
            entries[file] = entry if reason == entry.yanked else entry.model_copy(update={"yanked": reason})
    for release_id, (mark, contents) in read.items():
        listed = all(entry.file in entries and entries[entry.file].tag == entry.tag for entry in contents.entries)
        if listed and not (contents.errors or contents.notes):
            cache.keep_release(release_id, mark, contents)
    found.errors += [f"{name}: no published file has this name" for name in sorted(before.replaced - set(entries))]
    ordered = sort_entries(entries.values())
    plain = [entry for entry in ordered if entry.variant is None]
    wheels = [entry for entry in plain if entry.file.endswith(".whl")]
    absent = [one for one in found.absent if one.file not in entries]
    return IndexContents(
        Index(
            wheels=wheels,
            sdists=[entry for entry in plain if not entry.file.endswith(".whl")],
            variants=[entry for entry in ordered if entry.variant is not None],
            absent=absent,
            missing=find_missing(wheels, found.planned, (one.file for one in absent)),
        ),
        IndexState(
            yanked=before.state.yanked,
            digests={
                name: digests.get(name) or before.state.digests[name]
                for name in _list_kept_digests(digests, entries, before)
            },
        ),
        tuple(found.errors),
        tuple(found.notes),
    )


def _list_kept_digests(
    digests: Mapping[str, Digest], entries: Mapping[str, IndexedFile], before: PreviousIndex
) -> list[str]:
    """List names whose digest the state must keep: it is not in the index, or was chosen by the user."""
    return sorted({*digests, *(name for name in before.state.digests if name not in entries)})


def _choose_entry(
    file: str, held: list[IndexedFile], before: PreviousIndex, digests: dict[str, Digest], errors: list[str]
) -> IndexedFile | None:
    """Choose the entry that a name is bound to; None if all differ from the contents listed before."""
    if file in before.replaced:
        chosen = held[-1]
        if len({entry.sha256 for entry in held}) > 1:
            digests[file] = chosen.sha256
        return chosen
    fixed = before.state.digests.get(file)
    if fixed is None and len(held) == 1 and before.digests.get(file, held[0].sha256) == held[0].sha256:
        return held[0]
    first = fixed or before.digests.get(file) or held[0].sha256
    place = next((place for place, entry in enumerate(held) if entry.sha256 == first), None)
    later = held if place is None else held[place:]
    for entry in later:
        if entry.sha256 == first:
            continue
        other = (
            "the file that the index listed before" if place is None else f"{held[place].tag}/{file} ({first.short})"
        )
        result = "and is excluded" if place is None else "which the index keeps"
        errors.append(
            f"{entry.tag}/{file} ({entry.sha256.short}) differs from {other}, {result}\n"
            f"  help: publish it under a new version, or accept the new contents with --replace {file}"
        )
    if place is None or (fixed and len({entry.sha256 for entry in held}) > 1):
        digests[file] = first
    return None if place is None else held[place]


def _read_release(store: ReadableStore, release: RemoteRelease, link: Link, cache: IndexCache) -> ReleaseContents:
    assets = {asset.name: asset for asset in store.assets(release) if asset.whole}
    entries: list[IndexedFile] = []
    errors: list[str] = []
    notes: list[str] = []
    manifest = _read_manifest(store, release, assets.get(MANIFEST), notes) or Manifest(tag=release.tag)
    files = ReleaseAssets(store, release, link, cache, assets, {one.name: one for one in manifest.assets})
    for asset in assets.values():
        try:
            name = parse_file_name(asset.name)
            entry = files.make_entry(asset, name) if name else None
        except VerificationError as error:
            errors.append(f"{release.tag}: {error}")
            continue
        if entry is not None:
            entries.append(entry)
    return ReleaseContents(
        entries=entries,
        absent=[
            NotPublished(file=one.name, tag=release.tag, outcome=one.outcome, reason=one.reason)
            for one in manifest.absent
        ],
        planned=list_planned(manifest.plan) if manifest.plan else [],
        errors=errors,
        notes=notes,
    )


def _read_manifest(
    store: ReadableStore, release: RemoteRelease, asset: RemoteAsset | None, notes: list[str]
) -> Manifest | None:
    if asset is None:
        return None
    try:
        return Manifest.model_validate_json(b"".join(store.read(asset)))
    except ValidationError:
        notes.append(f"{release.tag}/{MANIFEST} was not written by fatwheel and is ignored")
        return None
