"""The JSON of releases, assets and errors, with every key that GitHub's description requires."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.fake_github.state import Artifact, Asset, Release, State

USER_URLS = (
    "avatar_url", "url", "html_url", "followers_url", "following_url", "gists_url", "starred_url", "subscriptions_url",
    "organizations_url", "repos_url", "events_url", "received_events_url",
)  # fmt: skip


class Shapes:
    """Renders one repository's things, with the addresses of this server."""

    def __init__(self, state: State, api: str, uploads: str) -> None:
        self.state = state
        self.api = f"{api}/repos/{state.repository}"
        self.uploads = f"{uploads}/repos/{state.repository}"
        self.web = f"https://github.com/{state.repository}"

    def release(self, release: Release) -> dict[str, Any]:
        url = f"{self.api}/releases/{release.id}"
        place = f"untagged-{release.id:x}" if release.draft else release.tag
        return {
            "url": url, "html_url": f"{self.web}/releases/tag/{place}", "assets_url": f"{url}/assets",
            "upload_url": f"{self.uploads}/releases/{release.id}/assets{{?name,label}}",
            "tarball_url": None if release.draft else f"{self.api}/tarball/{release.tag}",
            "zipball_url": None if release.draft else f"{self.api}/zipball/{release.tag}",
            "id": release.id, "node_id": f"RE_{release.id}", "tag_name": release.tag,
            "target_commitish": release.target, "name": release.title, "body": release.body, "draft": release.draft,
            "prerelease": release.prerelease, "immutable": release.immutable, "created_at": release.created,
            "updated_at": release.created, "published_at": release.published, "author": user(),
            "assets": [self.asset(a, release) for a in release.assets.values() if not a.hidden],
        }  # fmt: skip

    def asset(self, asset: Asset, release: Release) -> dict[str, Any]:
        place = f"untagged-{release.id:x}" if release.draft else release.tag
        return {
            "url": f"{self.api}/releases/assets/{asset.id}", "id": asset.id, "node_id": f"RA_{asset.id}",
            "name": asset.name, "label": asset.label, "state": asset.state,
            "content_type": "application/octet-stream", "size": asset.size,
            "digest": asset.digest if self.state.digests else None, "download_count": 0,
            "created_at": asset.created, "updated_at": asset.created, "uploader": user(),
            "browser_download_url": f"{self.web}/releases/download/{place}/{quote(asset.name)}",
        }  # fmt: skip

    def artifact(self, artifact: Artifact) -> dict[str, Any]:
        url = f"{self.api}/actions/artifacts/{artifact.id}"
        return {
            "id": artifact.id, "node_id": f"AR_{artifact.id}", "name": artifact.name,
            "size_in_bytes": len(artifact.content), "url": url, "archive_download_url": f"{url}/zip",
            "expired": artifact.expired, "created_at": self.state.now(), "expires_at": None, "updated_at": None,
            "workflow_run": {"id": artifact.run},
        }  # fmt: skip


def user() -> dict[str, Any]:
    urls: dict[str, Any] = dict.fromkeys(USER_URLS, "https://api.github.com/users/octocat")
    return urls | {
        "login": "octocat", "id": 1, "node_id": "U_1", "gravatar_id": "", "type": "User", "site_admin": False,
    }  # fmt: skip


def error(status: int, message: str, *errors: dict[str, str]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status),
    }  # fmt: skip
    return document | ({"errors": list(errors)} if errors else {})
