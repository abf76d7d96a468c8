"""Write the index of a store to a folder: the pages, index.json, its schema and the installer."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, urlsplit

from fatwheel.errors import UsageError
from fatwheel.index.atomic_write import INDEX, PAGE, check_output, lock_output, replace_tree
from fatwheel.index.document import render_json
from fatwheel.index.entries import Link
from fatwheel.index.file_names import sort_entries
from fatwheel.index.landing_page import render_landing_page
from fatwheel.index.listing import PreviousIndex, read_store
from fatwheel.index.read_cache import IndexCache, find_cache_folder
from fatwheel.index.schema import SCHEMA, read_schema
from fatwheel.index.simple_api import render_pages
from fatwheel.records.index import Index, IndexReport, IndexState
from fatwheel.resources import script
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
    among_files: bool = False,
) -> IndexReport:
    """Write the index of the store's published releases.

    Links are ``base_url/TAG/NAME``; by default, the URLs of the store, or relative links to a folder. The report's
    ``problems`` describe invalid files, which are excluded while the rest is written. ``replace`` contains file names
    or globs whose contents may change. A rebuild from scratch gives the same index, except for yanked and replaced
    files, which index-state.json records. ``cache`` is a folder that saves reading files twice.
    ``among_files`` allows an output folder that contains other files and no index yet, such as a branch or the store.
    Raises `UsageError` for an invalid output folder or base URL, and `StoreFailure` for an unreadable store; the index
    is not changed then.
    """
    output = output.resolve()
    with lock_output(output):
        if not among_files and not _is_store(store, output):
            check_output(output)
        known = IndexCache(output, find_cache_folder(cache, f"{store.spec} {output}"), str(base_url))
        state = read_state(output)
        digests = {entry.file: entry.sha256 for entry in known.index.entries}
        replaced = frozenset(
            name for pattern in replace for name in (fnmatch.filter({*digests, *state.digests}, pattern) or [pattern])
        )
        before = PreviousIndex(digests, state, replaced)
        contents = read_store(store, _make_link(store, output, base_url), known, before)
        files = render_index(contents.index, contents.state, known.index.lines)
        changed = write_index(output, files)
        known.save(files[INDEX])
    return IndexReport(
        output=str(output),
        store=store.spec,
        wheels=len(contents.index.wheels),
        sdists=len(contents.index.sdists),
        pages=sum(path.endswith(PAGE) for path in files),
        changed=changed,
        problems=list(contents.errors),
        notes=[*contents.notes, *_notes(store, output, base_url), *_cache_warning(known)],
        missing=contents.index.missing,
    )


def write_index(output: Path, files: Mapping[str, bytes]) -> list[str]:
    """Write the files of an index; returns what changed. Raises `UsageError` if the folder cannot be written."""
    try:
        return replace_tree(output, files, without=() if STATE in files else (STATE,))
    except OSError as error:
        raise UsageError(
            f"cannot write the index: {error.strerror}", where=str(error.filename or output),
            help="fix the permissions or free disk space, and run the command again",
        ) from None  # fmt: skip


def read_state(output: Path) -> IndexState:
    """Read the yanked and replaced files of an index. Raises `UsageError` for an invalid state file."""
    return IndexState.read(output / STATE) if (output / STATE).is_file() else IndexState()


def render_index(
    index: Index, state: IndexState | None = None, lines: Mapping[int, bytes] | None = None
) -> Mapping[str, bytes]:
    """Render all files of the index, by relative path. ``lines``: reusable lines of index.json, see `Document`."""
    entries = sort_entries([*index.wheels, *index.sdists, *index.variants])
    pages = render_pages(entries)
    kept = {STATE: state.to_json().encode()} if state and state != IndexState() else {}
    return (
        pages
        | kept
        | {
            PAGE: render_landing_page(index, [entry for entry in entries if entry.variant is None]),
            INDEX: render_json(index, lines),
            SCHEMA: read_schema(),
            INSTALLER: script(INSTALLER).read_bytes(),
        }
    )


def _make_link(store: ReadableStore, output: Path, base_url: str | None) -> Link:
    if base_url is not None:
        if urlsplit(base_url).scheme not in ("http", "https", "file") or urlsplit(base_url).fragment:
            raise UsageError(
                f"invalid base URL '{base_url}'", where="--base-url", help="give an http:// or https:// URL"
            )
        base = base_url.rstrip("/")
        return lambda release, asset: f"{base}/{quote(release.tag)}/{quote(asset.name, safe='')}"

    def link(release: RemoteRelease, asset: RemoteAsset) -> str:
        url = store.link(release, asset, output)
        if url is None:
            raise UsageError(
                f"the store has no URL ending in the file name of {release.tag}/{asset.name}", help="use --base-url"
            )
        return url

    return link


def _is_store(store: ReadableStore, output: Path) -> bool:
    return output in {folder.resolve() for folder in store.folders()}


def _cache_warning(cache: IndexCache) -> Iterator[str]:
    if cache.warning:
        yield f"warning: {cache.warning}"


def _notes(store: ReadableStore, output: Path, base_url: str | None) -> Iterator[str]:
    """Warn about links that lead out of the index folder."""
    if base_url is not None:
        return
    outside = [os.path.relpath(folder.resolve(), output) for folder in store.folders()]
    outside = [path for path in outside if path.startswith(os.pardir)]
    if outside:
        folders = "the folder that contains both" if len(outside) == 1 else "the folder that contains all of them"
        yield (
            f"note: links lead out of the index folder, to {' and '.join(outside)}: publish {folders}, or use "
            "--base-url"
        )
