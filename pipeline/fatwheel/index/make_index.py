"""From a store to a folder that pip, uv, the installer and people read."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from fatwheel.errors import UsageError
from fatwheel.index.atomic_write import PAGE, locked, replace_tree
from fatwheel.index.document import INDEX, index_json
from fatwheel.index.entries import Link
from fatwheel.index.landing_page import landing_page
from fatwheel.index.listing import PreviousIndex, read_store
from fatwheel.index.names import in_order
from fatwheel.index.read_cache import IndexCache, known_place
from fatwheel.index.schema import SCHEMA, kept_schema
from fatwheel.index.simple_api import simple_pages
from fatwheel.records.index import Index, IndexReport, IndexState
from fatwheel.resources import script
from fatwheel.stores.directory import DirectoryStore
from fatwheel.stores.remote import ReadableStore, RemoteAsset, RemoteRelease

STATE = "index-state.json"
INSTALLER = "install_wheel.py"


def make_index(
    store: ReadableStore,
    output: Path,
    base_url: str | None = None,
    *,
    replace: Sequence[str] = (),
    cache: Path | None = None,
) -> IndexReport:
    """Write the index of what the store's published releases hold now.

    Links are ``base_url/TAG/NAME``; without one, the store's own URLs, or relative ones for a folder. What is wrong
    with single files is in the report's ``problems``: they are left out, and the rest is written. ``replace`` has file
    names, or globs, whose bytes may be others than before. Rebuilt from zero it has the same bytes, but for what is
    yanked or replaced: that is kept beside it. ``cache`` is a folder for what need not be read twice.
    Raises `UsageError` for an output or a base URL that cannot be used, `StoreFailure` for a store that cannot be read;
    nothing is changed then.
    """
    output = output.resolve()
    with locked(output):
        known = IndexCache(output, known_place(cache, f"{store.spec} {output}"), str(base_url))
        state = read_state(output)
        digests = {row.file: row.sha256 for row in known.index.rows}
        replaced = frozenset(
            name for pattern in replace for name in (fnmatch.filter({*digests, *state.digests}, pattern) or [pattern])
        )
        before = PreviousIndex(digests, state, replaced)
        listing = read_store(store, _link(store, output, base_url), known, before)
        files = index_files(listing.index, listing.state, known.index.lines)
        changed = written(output, files)
        known.save(files[INDEX])
    return IndexReport(
        output=str(output),
        store=store.spec,
        wheels=len(listing.index.wheels),
        sdists=len(listing.index.sdists),
        pages=sum(path.endswith(PAGE) for path in files),
        changed=changed,
        problems=list(listing.problems),
        notes=[*listing.notes, *_notes(store, output, base_url)],
        missing=listing.index.missing,
    )


def written(output: Path, files: Mapping[str, bytes]) -> list[str]:
    """Put an index in its place; what changed. Raises `UsageError`."""
    try:
        return replace_tree(output, files, without=() if STATE in files else (STATE,))
    except OSError as error:
        raise UsageError(
            f"the index could not be written: {error.strerror}", where=str(error.filename or output),
            help="make room or mend the permissions, and run it again",
        ) from None  # fmt: skip


def read_state(output: Path) -> IndexState:
    """What is yanked and replaced there. Raises `UsageError` for a file that cannot be read."""
    return IndexState.read(output / STATE) if (output / STATE).is_file() else IndexState()


def index_files(
    index: Index, state: IndexState | None = None, lines: Mapping[int, bytes] | None = None
) -> Mapping[str, bytes]:
    """All files of the index by relative path. ``lines``: those of index.json that are known, as in `Document`."""
    rows = in_order([*index.wheels, *index.sdists, *index.variants])
    pages = simple_pages(rows)
    kept = {STATE: state.to_json().encode()} if state and state != IndexState() else {}
    return (
        pages
        | kept
        | {
            PAGE: landing_page(index, [row for row in rows if row.variant is None]),
            INDEX: index_json(index, lines),
            SCHEMA: kept_schema(),
            INSTALLER: script(INSTALLER).read_bytes(),
        }
    )


def _link(store: ReadableStore, output: Path, base_url: str | None) -> Link:
    if base_url is not None:
        if urlsplit(base_url).scheme not in ("http", "https", "file") or urlsplit(base_url).fragment:
            raise UsageError(
                f"'{base_url}' cannot start a link", where="--base-url", help="give an http:// or https:// URL"
            )
        base = base_url.rstrip("/")
        return lambda release, asset: f"{base}/{quote(release.tag)}/{quote(asset.name, safe='')}"
    if isinstance(store, DirectoryStore):
        relative = _way(store, output)
        start = "" if relative == "." else f"{quote(relative)}/"
        return lambda release, asset: f"{start}{quote(release.tag)}/{quote(asset.name, safe='')}"
    return _own_url


def _way(store: DirectoryStore, output: Path) -> str:
    """From the index's folder to the store's."""
    return os.path.relpath(store.root.resolve(), output)


def _notes(store: ReadableStore, output: Path, base_url: str | None) -> Iterator[str]:
    """That pages lead out of their folder, where they do."""
    if base_url is not None or not isinstance(store, DirectoryStore):
        return
    relative = _way(store, output)
    if relative.startswith(os.pardir):
        yield (
            f"note: links lead out of the folder, to {relative}: serve or carry the folder that holds both, or give "
            "--base-url"
        )


def _own_url(release: RemoteRelease, asset: RemoteAsset) -> str:
    """Where the store says that an asset is. Raises `UsageError` if it does not, or under another name."""
    if asset.url is None or unquote(urlsplit(asset.url).path).rpartition("/")[2] != asset.name:
        raise UsageError(
            f"the store gives no URL that ends in the name of {release.tag}/{asset.name}", help="give --base-url"
        )
    return asset.url.replace("+", "%2B")
