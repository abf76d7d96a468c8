"""Releases of a GitHub repository."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, unquote, urlsplit

from fatwheel.digests import Digest, stream_digest
from fatwheel.stores.body import Body
from fatwheel.stores.github.requests import Requests
from fatwheel.stores.remote import RemoteAsset, RemoteRelease, Rules
from fatwheel.stores.store_errors import FailureKind, StoreFailure

NOTES_LIMIT = 120_000
"""Characters. GitHub refuses a release's text of more than 125,000."""

DIGEST_WAITS = (0.0, 1.0, 2.0, 4.0)
"""Seconds before each look for a digest: it was seen to come a little after the asset."""


class GitHubStore:
    """One repository's releases. JSON is read raw: a schema would refuse a half-uploaded asset."""

    def __init__(self, repository: str, requests: Requests) -> None:
        self.repository = repository
        self.requests = requests
        self.hidden: frozenset[str] = frozenset()
        self._mute = False  # the server keeps no digests
        self._base = f"repos/{repository}"

    @property
    def spec(self) -> str:
        """``github:OWNER/REPO``."""
        return f"github:{self.repository}"

    def rules(self) -> Rules:
        """Whole wheels only, and no more than so many writes a minute and an hour."""
        return Rules(paced=True, whole=True, hard=True)

    def check(self, tag: str, commit: str | None) -> tuple[str, ...]:
        """Refuse now what would be refused later; what cannot be learnt is a note."""
        if not self.requests.token:
            raise StoreFailure("there is no token", FailureKind.RELEASE, help="set GITHUB_TOKEN")
        try:
            about = self.requests.document(self._base)
        except StoreFailure as problem:
            if problem.kind is FailureKind.GONE:
                raise StoreFailure(
                    "no such repository, or the token may not see it",
                    FailureKind.RELEASE,
                    help="look at the token's scope",
                ) from problem
            raise
        notes = []
        if about.get("archived"):
            raise StoreFailure("the repository is archived", FailureKind.RELEASE)
        may = (about.get("permissions") or {}).get("push")
        if may is False:
            raise StoreFailure(
                "the token may not write here",
                FailureKind.RELEASE,
                help="it needs `contents: write` in this repository",
            )
        if may is None:
            notes.append("whether the token may write cannot be seen beforehand")
        if commit and (there := self._tag_commit(tag)) and there != commit:
            raise StoreFailure(
                f"the tag {tag} is of commit {there[:12]}, not {commit[:12]}",
                FailureKind.RELEASE,
                help="release from the tag's commit, or use another tag",
            )
        if self._immutable():
            notes.append("the release becomes immutable when it is published: what is missing then cannot be added")
        return tuple(notes)

    def releases(self) -> tuple[RemoteRelease, ...]:
        """All releases and, with a token that may write, the drafts."""
        found = (_release(row) for row in self.requests.pages(f"{self._base}/releases"))
        return tuple(release for release in found if release.id not in self.hidden)

    def without(self, hidden: frozenset[str]) -> Self:
        """The same store, which does not show releases of these ids among all."""
        other = copy.copy(self)
        other.hidden = hidden
        return other

    def find(self, tag: str) -> tuple[RemoteRelease, ...]:
        """The published release of a tag, or else its drafts, oldest first: only the list shows those."""
        try:
            row = self.requests.json("GET", f"{self._base}/releases/tags/{quote(tag, safe='')}")
            return (_release(row),)
        except StoreFailure as problem:
            if problem.kind is not FailureKind.GONE:
                raise
        found = [release for release in self.releases() if release.tag == tag]
        return tuple(sorted(found, key=lambda r: (r.draft, len(r.id), r.id)))

    def by_id(self, release_id: str) -> RemoteRelease | None:
        """One release, a draft too."""
        try:
            return _release(self.requests.json("GET", f"{self._base}/releases/{quote(release_id, safe='')}"))
        except StoreFailure as problem:
            if problem.kind is FailureKind.GONE:
                return None
            raise

    def assets(self, release: RemoteRelease) -> tuple[RemoteAsset, ...]:
        """All assets, also those that broke off."""
        rows = self.requests.pages(f"{self._base}/releases/{release.id}/assets")
        found = {asset.id: asset for asset in (_asset(row, draft=release.draft) for row in rows)}
        return tuple(sorted(found.values(), key=lambda asset: asset.name))

    def mark(self, release: RemoteRelease) -> None:
        """None: assets are listed by one request for a hundred of them."""

    def folders(self) -> tuple[Path, ...]:
        """Return nothing: the releases are on another machine."""
        return ()

    def local_path(self, asset: RemoteAsset) -> None:
        """Return None: the releases are on another machine."""

    def link(self, release: RemoteRelease, asset: RemoteAsset, start: Path) -> str | None:  # noqa: ARG002
        """Return the download URL of an asset, unless GitHub renamed the asset or gives no URL."""
        if asset.url is None or unquote(urlsplit(asset.url).path).rpartition("/")[2] != asset.name:
            return None
        return asset.url.replace("+", "%2B")

    def read(self, asset: RemoteAsset) -> Iterator[bytes]:
        """Download an asset."""
        return self.requests.stream(f"{self._base}/releases/assets/{asset.id}")

    def digest(self, asset: RemoteAsset) -> Digest:
        """What GitHub says, for which a new asset may have to wait; an older server says nothing: the asset is read."""
        for wait in () if self._mute else DIGEST_WAITS:
            self.requests.clock.sleep(wait)
            row = self.requests.json("GET", f"{self._base}/releases/assets/{asset.id}")
            if digest := _asset(row, draft=True).digest:
                return digest
        self._mute = True
        return stream_digest(self.read(asset))

    def create_draft(
        self, tag: str, *, commit: str | None, title: str, notes: str, prerelease: bool = False
    ) -> RemoteRelease:
        """Make a draft; no tag comes of it yet."""
        data = {"tag_name": tag, "name": title, "body": notes[:NOTES_LIMIT], "draft": True, "prerelease": prerelease}
        if commit:
            data["target_commitish"] = commit
        return _release(self.requests.json("POST", f"{self._base}/releases", data=data))

    def upload(self, release: RemoteRelease, name: str, body: Body) -> RemoteAsset:
        """Send an asset to where the release says."""
        if not release.upload_url:
            raise StoreFailure("the release does not say where to upload to", FailureKind.RELEASE)
        url = release.upload_url.split("{")[0]
        return _asset(self.requests.upload(url, name, body), draft=release.draft)

    def rename(self, release: RemoteRelease, asset: RemoteAsset, name: str) -> RemoteAsset:
        """Give an asset another name."""
        row = self.requests.json("PATCH", f"{self._base}/releases/assets/{asset.id}", data={"name": name})
        return _asset(row, draft=release.draft)

    def delete(self, release: RemoteRelease, asset: RemoteAsset) -> None:  # noqa: ARG002  (ids are the repository's)
        """Remove an asset; one that is gone is no failure."""
        self._delete(f"{self._base}/releases/assets/{asset.id}")

    def publish(self, release: RemoteRelease, *, commit: str | None, notes: str | None) -> RemoteRelease:
        """Make a draft public, and its tag with it."""
        data: dict[str, Any] = {"draft": False}
        if commit:
            data["target_commitish"] = commit
        if notes is not None:
            data["body"] = notes[:NOTES_LIMIT]
        done = _release(self.requests.json("PATCH", f"{self._base}/releases/{release.id}", data=data))
        if done.draft:
            raise StoreFailure("it was published, and is a draft all the same", FailureKind.AMBIGUOUS)
        return done

    def describe(self, release: RemoteRelease, notes: str) -> None:
        """Give a release's page another text."""
        self.requests.json("PATCH", f"{self._base}/releases/{release.id}", data={"body": notes[:NOTES_LIMIT]})

    def delete_release(self, release: RemoteRelease) -> None:
        """Remove a release, and the tag of a published one."""
        self._delete(f"{self._base}/releases/{release.id}")
        if release.draft:
            return
        try:
            self._delete(f"{self._base}/git/refs/tags/{quote(release.tag, safe='/')}")
        except StoreFailure as problem:
            problem.what = f"the release is gone, its tag is not: {problem.what}"
            raise

    def _delete(self, path: str) -> None:
        try:
            self.requests.json("DELETE", path)
        except StoreFailure as problem:
            if problem.kind is not FailureKind.GONE:
                raise

    def _tag_commit(self, tag: str) -> str | None:
        try:
            row = self.requests.json("GET", f"{self._base}/git/ref/tags/{quote(tag, safe='/')}")
            if row["object"]["type"] == "tag":
                row = self.requests.json("GET", f"{self._base}/git/tags/{row['object']['sha']}")
            return str(row["object"]["sha"])
        except StoreFailure as problem:
            if problem.kind is FailureKind.GONE:
                return None
            raise
        except (KeyError, TypeError):
            return None  # several tags that only start like it

    def _immutable(self) -> bool:
        try:
            row = self.requests.json("GET", f"{self._base}/immutable-releases")
        except StoreFailure as problem:
            if problem.kind is FailureKind.LIMITED:
                raise
            return False  # only an administrator may ask, and older servers do not know it
        return bool(isinstance(row, dict) and row.get("enabled"))


def is_repository(text: str) -> bool:
    """Whether it reads OWNER/REPO."""
    return bool(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*/(?!\.{1,2}$)[A-Za-z0-9._-]+", text))


def _release(row: Any) -> RemoteRelease:
    try:
        return RemoteRelease(
            id=str(row["id"]),
            tag=row["tag_name"],
            draft=bool(row["draft"]),
            immutable=bool(row.get("immutable")),
            commit=row.get("target_commitish"),
            prerelease=bool(row.get("prerelease")),
            created=row.get("published_at") or row.get("created_at") or "",  # created_at is the commit's date
            url=row.get("html_url"),
            upload_url=row.get("upload_url"),
            notes=row.get("body") or "",
        )
    except (KeyError, TypeError, AttributeError):
        raise StoreFailure("an answer that is no release", FailureKind.AMBIGUOUS) from None


def _asset(row: Any, *, draft: bool) -> RemoteAsset:
    try:
        return RemoteAsset(
            id=str(row["id"]),
            name=row["name"],
            size=int(row["size"]),
            state=row["state"],
            digest=Digest.from_api(row.get("digest")),
            url=None if draft else row.get("browser_download_url"),
        )
    except (KeyError, TypeError, AttributeError, ValueError):
        raise StoreFailure("an answer that is no asset", FailureKind.AMBIGUOUS) from None
