"""A store in a folder: releases in ``PATH/TAG/``, drafts in ``PATH/.draft-TAG/``."""

from __future__ import annotations

import contextlib
import copy
import errno
import functools
import hashlib
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Self
from urllib.parse import quote

from fatwheel.digests import Digest, file_digest
from fatwheel.errors import UsageError
from fatwheel.records.base import Record
from fatwheel.stores.body import CHUNK, Body
from fatwheel.stores.remote import STARTER, UPLOADED, RemoteAsset, RemoteRelease, Rules
from fatwheel.stores.store_errors import FailureKind, StoreFailure
from fatwheel.system_errors import DENIED, FULL

DRAFT = ".draft-"
PART = ".part-"  # a file that is being written; listed as a partial upload after an interrupted run
ABOUT = ".fatwheel-release.json"

_ZEROS = bytes(CHUNK)


class _About(Record):
    commit: str | None = None
    created: str = ""


class DirectoryStore:
    """Releases in a folder. A file appears under its name only when it is complete."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.hidden: frozenset[str] = frozenset()

    @property
    def spec(self) -> str:
        """``dir:PATH``."""
        return f"dir:{self.root}"

    def rules(self) -> Rules:
        """GitHub's limits on names and sizes, for rehearsals; partial and placeholder wheels are accepted."""
        return Rules()

    def releases(self) -> tuple[RemoteRelease, ...]:
        """Return all releases and drafts, newest first."""
        if not self.root.is_dir():
            return ()
        found = [
            self._release(Path(place.path), place.name.removeprefix(DRAFT))
            for place in os.scandir(self.root)
            if place.is_dir() and (not place.name.startswith(".") or place.name.startswith(DRAFT))
        ]
        found = [release for release in found if release.id not in self.hidden]
        return tuple(sorted(found, key=lambda r: (r.created, r.id), reverse=True))

    def without(self, hidden: frozenset[str]) -> Self:
        """Return a view of the store whose `releases` exclude these IDs."""
        other = copy.copy(self)
        other.hidden = hidden
        return other

    def find(self, tag: str) -> tuple[RemoteRelease, ...]:
        """Return the published release of a tag and its draft."""
        check_tag(tag)
        places = (self.root / tag, self.root / f"{DRAFT}{tag}")
        return tuple(self._release(place, tag) for place in places if place.is_dir())

    def by_id(self, release_id: str) -> RemoteRelease | None:
        """Return the release in the folder of this name."""
        place = self.root / release_id
        return self._release(place, release_id.removeprefix(DRAFT)) if place.is_dir() else None

    def assets(self, release: RemoteRelease) -> tuple[RemoteAsset, ...]:
        """Return all files of a release by name, without digests, which `digest` computes."""
        found = []
        with _failures(release.tag):
            for entry in os.scandir(self._place(release)):
                if not entry.is_file():
                    continue
                if entry.name.startswith(PART):
                    name, state = entry.name.removeprefix(PART), STARTER
                elif entry.name.startswith("."):
                    continue
                else:
                    name, state = entry.name, UPLOADED
                about = entry.stat()
                mark = f"{about.st_ino}-{about.st_mtime_ns}"
                found.append(RemoteAsset(f"{release.id}/{entry.name}", name, about.st_size, state, changed=mark))
        # A complete file hides the partial upload that would have replaced it.
        whole = {asset.name for asset in found if asset.whole}
        return tuple(sorted((a for a in found if a.whole or a.name not in whole), key=lambda a: a.name))

    def mark(self, release: RemoteRelease) -> str:
        """Return a digest of the names, sizes and times of all files."""
        with _failures(release.tag):
            seen = [
                f"{entry.name}\0{about.st_ino} {about.st_size} {about.st_mtime_ns}\0"
                for entry in os.scandir(self._place(release))
                if (about := entry.stat())
            ]
        return hashlib.sha256(os.fsencode("".join(sorted(seen)))).hexdigest()

    def folders(self) -> tuple[Path, ...]:
        """Return the folder of the store."""
        return (self.root,)

    def local_path(self, asset: RemoteAsset) -> Path:
        """Return the file of an asset."""
        return self.root / asset.id

    def link(self, release: RemoteRelease, asset: RemoteAsset, start: Path) -> str:
        """Return the URL of an asset relative to the folder ``start``."""
        return f"{_relative_url(self.root, start)}{quote(release.tag)}/{quote(asset.name, safe='')}"

    def read(self, asset: RemoteAsset) -> Iterator[bytes]:
        """Yield the content of a file."""
        with _failures(asset.name):
            if asset.size < CHUNK:
                yield (self.root / asset.id).read_bytes()
            else:
                yield from Body(self.root / asset.id, asset.size)

    def digest(self, asset: RemoteAsset) -> Digest:
        """sha256, from reading the file."""
        with _failures(asset.name):
            return file_digest(self.root / asset.id)

    def check(self, tag: str, commit: str | None) -> tuple[str, ...]:  # noqa: ARG002  (a folder has no tags)
        """Raise `UsageError` for a tag that is not a valid folder name."""
        check_tag(tag)
        return ()

    def create_draft(
        self, tag: str, *, commit: str | None, title: str, notes: str, prerelease: bool = False
    ) -> RemoteRelease:
        """Create the folder of a draft. A folder has no title and no notes.

        Raises `UsageError` if the store's folder cannot be created, and `StoreFailure` for a failure inside it.
        """
        del title, notes, prerelease
        check_tag(tag)
        place = self.root / f"{DRAFT}{tag}"
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"cannot create the store: {error.strerror or error}"
            raise UsageError(what, where=str(self.root), help="choose another folder with --store dir:PATH") from error
        with _failures(tag):
            place.mkdir(parents=True, exist_ok=True)
            about = _About(commit=commit, created=datetime.now(UTC).isoformat(timespec="microseconds"))
            about.write(place / ABOUT)
        return self._release(place, tag)

    def upload(self, release: RemoteRelease, name: str, body: Body) -> RemoteAsset:
        """Copy a file under a temporary name, sync it to disk, then rename it."""
        place = self._place(release)
        part = place / f"{PART}{name}"
        with _failures(name):
            with part.open("wb", buffering=0) as file:
                for chunk in body:
                    _write(file.fileno(), chunk)
                file.truncate(os.lseek(file.fileno(), 0, os.SEEK_CUR))
                os.fsync(file.fileno())
            if (place / name).exists():
                raise StoreFailure("an asset with this name exists", FailureKind.TAKEN)
            part.rename(place / name)
        return RemoteAsset(f"{release.id}/{name}", name, (place / name).stat().st_size)

    def rename(self, release: RemoteRelease, asset: RemoteAsset, name: str) -> RemoteAsset:
        """Rename a file; an existing file is never overwritten."""
        target = self._place(release) / name
        with _failures(name):
            if target.exists():
                raise StoreFailure("an asset with this name exists", FailureKind.TAKEN)
            (self.root / asset.id).rename(target)
        return RemoteAsset(f"{release.id}/{name}", name, asset.size, asset.state, asset.digest)

    def delete(self, release: RemoteRelease, asset: RemoteAsset) -> None:
        """Delete a file, if it exists."""
        with _failures(f"{release.tag}/{asset.name}"):
            (self.root / asset.id).unlink(missing_ok=True)

    def publish(self, release: RemoteRelease, *, commit: str | None, notes: str | None) -> RemoteRelease:  # noqa: ARG002
        """Rename the folder of the draft; if the tag is already published, move the files one by one."""
        draft, place = self._place(release), self.root / release.tag
        with _failures(release.tag):
            if place.is_dir():
                for file in sorted(draft.iterdir()):
                    if not (place / file.name).exists():
                        file.rename(place / file.name)
                shutil.rmtree(draft)
            else:
                draft.rename(place)
        return self._release(place, release.tag)

    def describe(self, release: RemoteRelease, notes: str) -> None:
        """Do nothing: a folder has no notes."""

    def delete_release(self, release: RemoteRelease) -> None:
        """Delete the folder of a release, which is renamed first so that the release disappears in one step."""
        place = self._place(release)
        aside = self.root / f".deleted-{release.id}"
        with _failures(release.tag):
            place.rename(aside)
            shutil.rmtree(aside)

    def _place(self, release: RemoteRelease) -> Path:
        return self.root / release.id

    def _release(self, place: Path, tag: str) -> RemoteRelease:
        about = _About.read(place / ABOUT) if (place / ABOUT).is_file() else None
        draft = place.name.startswith(DRAFT)
        if about is None:
            return RemoteRelease(place.name, tag, draft=draft)
        return RemoteRelease(place.name, tag, draft=draft, commit=about.commit, created=about.created)


def check_tag(tag: str) -> None:
    """Raise `UsageError` for a tag that is not the name of one visible folder."""
    if not tag or tag.startswith(".") or any(c in "/\\\0" or not c.isprintable() for c in tag):
        raise UsageError(
            f"invalid tag {tag!r} for a release in a folder", where="--tag", help="use only letters, digits and . _ + -"
        )


@functools.lru_cache(maxsize=64)
def _relative_url(root: Path, start: Path) -> str:
    """Return the relative URL of a folder, ending in a slash; empty if the folders are the same."""
    relative = os.path.relpath(root.resolve(), start.resolve())
    return "" if relative == "." else f"{quote(relative)}/"


def _write(handle: int, chunk: bytes) -> None:
    # Write blocks of zeros as holes, so that sparse files stay sparse.
    if chunk == _ZEROS[: len(chunk)]:
        os.lseek(handle, len(chunk), os.SEEK_CUR)
        return
    view = memoryview(chunk)
    while view:
        view = view[os.write(handle, view) :]


@contextlib.contextmanager
def _failures(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"{name}: {error.strerror or error}"
        if error.errno in FULL | DENIED | {errno.ENOTDIR}:
            raise StoreFailure(
                what, FailureKind.RELEASE, help="free disk space or fix the permissions of the store"
            ) from error
        raise StoreFailure(what, FailureKind.ASSET) from error
