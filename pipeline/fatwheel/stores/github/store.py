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
"""Characters. GitHub rejects release notes of more than 125,000."""

DIGEST_WAITS = (0.0, 1.0, 2.0, 4.0)
"""Seconds before each request for a digest, which may appear shortly after its asset."""


class GitHubStore:
    """The releases of one repository. Responses are read without a schema, which would reject partial uploads."""

    def __init__(self, repository: str, requests: Requests) -> None:
        self.repository = repository
        self.requests = requests
        self.hidden: frozenset[str] = frozenset()
        self._no_digests = False  # the server has no digests
        self._base = f"repos/{repository}"

    @property
    def spec(self) -> str:
        """``github:OWNER/REPO``."""
        return f"github:{self.repository}"

    def rules(self) -> Rules:
        """Return GitHub's limits, and no partial or placeholder wheels."""
        return Rules(paced=True, whole=True, hard=True)

    def check(self, tag: str, commit: str | None) -> tuple[str, ...]:
        """Check the token, the repository and the tag before anything is uploaded."""
        if not self.requests.token:
            raise StoreFailure("no token", FailureKind.RELEASE, help="set GITHUB_TOKEN")
        try:
            about = self.requests.document(self._base)
        except StoreFailure as failure:
            if failure.kind is FailureKind.GONE:
                raise StoreFailure(
                    "no such repository, or the token cannot read it",
                    FailureKind.RELEASE,
                    help="check the name of the repository and the permissions of the token",
                ) from failure
            raise
        notes = []
        if about.get("archived"):
            raise StoreFailure("the repository is archived", FailureKind.RELEASE)
        may = (about.get("permissions") or {}).get("push")
        if may is False:
            raise StoreFailure(
                "the token has no write access",
                FailureKind.RELEASE,
                help="give it the `contents: write` permission for this repository",
            )
        if may is None:
            notes.append("cannot check in advance whether the token has write access")
        if commit and (current := self._tag_commit(tag)) and current != commit:
            raise StoreFailure(
                f"the tag {tag} points to commit {current[:12]}, not {commit[:12]}",
                FailureKind.RELEASE,
                help="release from the tag's commit, or use another tag",
            )
        if self._immutable():
            notes.append("the release becomes immutable when it is published; missing assets cannot be added later")
        return tuple(notes)

    def releases(self) -> tuple[RemoteRelease, ...]:
        """Return all releases and, if the token has write access, the drafts."""
        found = (_parse_release(row) for row in self.requests.pages(f"{self._base}/releases"))
        return tuple(release for release in found if release.id not in self.hidden)

    def without(self, hidden: frozenset[str]) -> Self:
        """Return a view of the store whose `releases` exclude these IDs."""
        other = copy.copy(self)
        other.hidden = hidden
        return other

    def find(self, tag: str) -> tuple[RemoteRelease, ...]:
        """Return the published release of a tag, or else its drafts, oldest first, from the full list."""
        try:
            row = self.requests.json("GET", f"{self._base}/releases/tags/{quote(tag, safe='')}")
            return (_parse_release(row),)
        except StoreFailure as failure:
            if failure.kind is not FailureKind.GONE:
                raise
        found = [release for release in self.releases() if release.tag == tag]
        return tuple(sorted(found, key=lambda r: (r.draft, len(r.id), r.id)))

    def by_id(self, release_id: str) -> RemoteRelease | None:
        """Return the published release or draft with this ID."""
        try:
            return _parse_release(self.requests.json("GET", f"{self._base}/releases/{quote(release_id, safe='')}"))
        except StoreFailure as failure:
            if failure.kind is FailureKind.GONE:
                return None
            raise

    def assets(self, release: RemoteRelease) -> tuple[RemoteAsset, ...]:
        """Return all assets, including partial uploads."""
        rows = self.requests.pages(f"{self._base}/releases/{release.id}/assets")
        found = {asset.id: asset for asset in (_parse_asset(row, draft=release.draft) for row in rows)}
        return tuple(sorted(found.values(), key=lambda asset: asset.name))

    def mark(self, release: RemoteRelease) -> None:
        """Return None: one request lists a hundred assets."""

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
        """Yield the content of an asset."""
        return self.requests.stream(f"{self._base}/releases/assets/{asset.id}")

    def digest(self, asset: RemoteAsset) -> Digest:
        """Return GitHub's digest, waiting if the asset is new; from a server without digests, download the asset."""
        for wait in () if self._no_digests else DIGEST_WAITS:
            self.requests.clock.sleep(wait)
            row = self.requests.json("GET", f"{self._base}/releases/assets/{asset.id}")
            if digest := _parse_asset(row, draft=True).digest:
                return digest
        self._no_digests = True
        return stream_digest(self.read(asset))

    def create_draft(
        self, tag: str, *, commit: str | None, title: str, notes: str, prerelease: bool = False
    ) -> RemoteRelease:
        """Create a draft. Publishing it creates the tag."""
        data = {"tag_name": tag, "name": title, "body": notes[:NOTES_LIMIT], "draft": True, "prerelease": prerelease}
        if commit:
            data["target_commitish"] = commit
        return _parse_release(self.requests.json("POST", f"{self._base}/releases", data=data))

    def upload(self, release: RemoteRelease, name: str, body: Body) -> RemoteAsset:
        """Upload an asset to the upload URL of the release."""
        if not release.upload_url:
            raise StoreFailure("the release has no upload URL", FailureKind.RELEASE)
        url = release.upload_url.split("{")[0]
        return _parse_asset(self.requests.upload(url, name, body), draft=release.draft)

    def rename(self, release: RemoteRelease, asset: RemoteAsset, name: str) -> RemoteAsset:
        """Rename an asset."""
        row = self.requests.json("PATCH", f"{self._base}/releases/assets/{asset.id}", data={"name": name})
        return _parse_asset(row, draft=release.draft)

    def delete(self, release: RemoteRelease, asset: RemoteAsset) -> None:  # noqa: ARG002  (IDs are unique in a repository)
        """Delete an asset, if it exists."""
        self._delete(f"{self._base}/releases/assets/{asset.id}")

    def publish(self, release: RemoteRelease, *, commit: str | None, notes: str | None) -> RemoteRelease:
        """Publish a draft, which creates its tag."""
        data: dict[str, Any] = {"draft": False}
        if commit:
            data["target_commitish"] = commit
        if notes is not None:
            data["body"] = notes[:NOTES_LIMIT]
        done = _parse_release(self.requests.json("PATCH", f"{self._base}/releases/{release.id}", data=data))
        if done.draft:
            raise StoreFailure(
                "the server accepted the request to publish, but the release is still a draft", FailureKind.AMBIGUOUS
            )
        return done

    def describe(self, release: RemoteRelease, notes: str) -> None:
        """Replace the notes of a release."""
        self.requests.json("PATCH", f"{self._base}/releases/{release.id}", data={"body": notes[:NOTES_LIMIT]})

    def delete_release(self, release: RemoteRelease) -> None:
        """Delete a release, and its tag if it is published."""
        self._delete(f"{self._base}/releases/{release.id}")
        if release.draft:
            return
        try:
            self._delete(f"{self._base}/git/refs/tags/{quote(release.tag, safe='/')}")
        except StoreFailure as failure:
            failure.what = f"deleted the release, but not its tag: {failure.what}"
            raise

    def _delete(self, path: str) -> None:
        try:
            self.requests.json("DELETE", path)
        except StoreFailure as failure:
            if failure.kind is not FailureKind.GONE:
                raise

    def _tag_commit(self, tag: str) -> str | None:
        try:
            row = self.requests.json("GET", f"{self._base}/git/ref/tags/{quote(tag, safe='/')}")
            if row["object"]["type"] == "tag":
                row = self.requests.json("GET", f"{self._base}/git/tags/{row['object']['sha']}")
            return str(row["object"]["sha"])
        except StoreFailure as failure:
            if failure.kind is FailureKind.GONE:
                return None
            raise
        except (KeyError, TypeError):
            return None  # several tags with this prefix

    def _immutable(self) -> bool:
        try:
            row = self.requests.json("GET", f"{self._base}/immutable-releases")
        except StoreFailure as failure:
            if failure.kind is FailureKind.LIMITED:
                raise
            return False  # only administrators may ask, and older servers do not support it
        return bool(isinstance(row, dict) and row.get("enabled"))


def is_repository(text: str) -> bool:
    """Whether a text is a valid OWNER/REPO."""
    return bool(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*/(?!\.{1,2}$)[A-Za-z0-9._-]+", text))


def _parse_release(row: Any) -> RemoteRelease:
    try:
        return RemoteRelease(
            id=str(row["id"]),
            tag=row["tag_name"],
            draft=bool(row["draft"]),
            immutable=bool(row.get("immutable")),
            commit=row.get("target_commitish"),
            prerelease=bool(row.get("prerelease")),
            created=row.get("published_at") or row.get("created_at") or "",  # created_at is the date of the commit
            url=row.get("html_url"),
            upload_url=row.get("upload_url"),
            notes=row.get("body") or "",
        )
    except (KeyError, TypeError, AttributeError):
        raise StoreFailure("the server returned an invalid release", FailureKind.AMBIGUOUS) from None


def _parse_asset(row: Any, *, draft: bool) -> RemoteAsset:
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
        raise StoreFailure("the server returned an invalid asset", FailureKind.AMBIGUOUS) from None
