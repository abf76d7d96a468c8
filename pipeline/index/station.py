"""From a store to a folder that pip, uv, the installer and people read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from pipeline.errors import UsageError
from pipeline.index.listing import Link, Listing, read_store
from pipeline.index.pages import simple_pages
from pipeline.index.people import people_page
from pipeline.index.trees import PAGE, locked, put
from pipeline.records.index import Index, IndexReport
from pipeline.resources import script
from pipeline.stores.directory import DirectoryStore
from pipeline.stores.remote import ReadableStore, RemoteAsset, RemoteRelease

INDEX = "index.json"
INSTALLER = "install_wheel.py"


def make_index(store: ReadableStore, output: Path, base_url: str | None = None) -> IndexReport:
    """Write the index of what the store's published releases hold now.

    Links are ``base_url/TAG/NAME``; without one, the store's own URLs, or relative ones for a folder. What is wrong
    with single files is in the report's ``problems``: they are left out, and the rest is written. Rebuilt from zero it
    has the same bytes. Raises `UsageError` for an output or a base URL that cannot be used, `StoreFailure` for a
    store that cannot be read; nothing is changed then.
    """
    output = output.resolve()
    with locked(output):
        listing = read_store(store, _link(store, output, base_url))
        files = index_files(listing)
        try:
            changed = put(output, files)
        except OSError as error:
            raise UsageError(
                f"the index could not be written: {error.strerror}", where=str(error.filename or output),
                remedy="make room or mend the permissions, and run it again",
            ) from None  # fmt: skip
    return IndexReport(
        output=str(output),
        store=store.spec,
        wheels=len(listing.wheels),
        sdists=len(listing.sdists),
        pages=sum(path.endswith(PAGE) for path in files),
        changed=changed,
        problems=list(listing.problems),
        notes=list(listing.notes),
    )


def index_files(listing: Listing) -> Mapping[str, bytes]:
    """All files of the index by relative path."""
    pages = simple_pages([*listing.wheels, *listing.sdists])
    index = Index(
        wheels=list(listing.wheels),
        sdists=list(listing.sdists),
        absent=list(listing.absent),
    )
    return pages | {
        PAGE: people_page(index),
        INDEX: index.to_json().encode(),
        INSTALLER: script(INSTALLER).read_bytes(),
    }


def _link(store: ReadableStore, output: Path, base_url: str | None) -> Link:
    if base_url is not None:
        if urlsplit(base_url).scheme not in ("http", "https", "file") or urlsplit(base_url).fragment:
            raise UsageError(
                f"'{base_url}' cannot start a link", where="--base-url", remedy="give an http:// or https:// URL"
            )
        base = base_url.rstrip("/")
        return lambda release, asset: f"{base}/{quote(release.tag)}/{quote(asset.name, safe='')}"
    if isinstance(store, DirectoryStore):
        relative = os.path.relpath(store.root.resolve(), output)
        start = "" if relative == "." else f"{quote(relative)}/"
        return lambda release, asset: f"{start}{quote(release.tag)}/{quote(asset.name, safe='')}"
    return _own_url


def _own_url(release: RemoteRelease, asset: RemoteAsset) -> str:
    """Where the store says that an asset is. Raises `UsageError` if it does not, or under another name."""
    if asset.url is None or unquote(urlsplit(asset.url).path).rpartition("/")[2] != asset.name:
        raise UsageError(
            f"the store gives no URL that ends in the name of {release.tag}/{asset.name}", remedy="give --base-url"
        )
    return asset.url.replace("+", "%2B")
