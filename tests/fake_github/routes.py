"""The API's own requests: releases, assets, tags, artifacts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tests.fake_github.names import normalise
from tests.fake_github.shapes import error
from tests.fake_github.state import UPLOADED, Release

if TYPE_CHECKING:
    from tests.fake_github.server import Handler

NOT_FOUND = (404, error(404, "Not Found"))
Answer = tuple[int, Any]

# Method, path below /repos/OWNER/REPO, the route's name for faults, the function.
TABLE = [
    ("GET", r"", "repository", "repository"),
    ("GET", r"/releases", "list-releases", "list_releases"),
    ("POST", r"/releases", "create", "create"),
    ("GET", r"/releases/tags/(?P<tag>[^/]+)", "find", "by_tag"),
    ("GET", r"/releases/assets/(?P<asset>\d+)", "asset", "asset"),
    ("PATCH", r"/releases/assets/(?P<asset>\d+)", "rename", "rename"),
    ("DELETE", r"/releases/assets/(?P<asset>\d+)", "delete", "delete_asset"),
    ("GET", r"/releases/(?P<release>\d+)/assets", "list", "assets"),
    ("GET", r"/releases/(?P<release>\d+)", "release", "release"),
    ("PATCH", r"/releases/(?P<release>\d+)", "publish", "update"),
    ("DELETE", r"/releases/(?P<release>\d+)", "delete-release", "delete_release"),
    ("GET", r"/immutable-releases", "immutable", "immutable"),
    ("GET", r"/git/ref/tags/(?P<tag>.+)", "ref", "ref"),
    ("DELETE", r"/git/refs/tags/(?P<tag>.+)", "delete-tag", "delete_tag"),
    ("GET", r"/actions/runs/(?P<run>\d+)/artifacts", "artifacts", "artifacts"),
    ("GET", r"/actions/runs/(?P<run>\d+)", "run", "run"),
    ("GET", r"/actions/artifacts/(?P<artifact>\d+)/zip", "artifact", "artifact"),
]


def find(method: str, path: str) -> tuple[str, str, dict[str, str]] | None:
    """The route's name, its function's name and what its path holds."""
    for verb, pattern, name, function in TABLE:
        if verb == method and (match := re.fullmatch(pattern, path)):
            return name, function, {key: unquote(value) for key, value in match.groupdict().items()}
    return None


class Routes:
    """One answer for each route, under the state's lock."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.site = handler.site
        self.state = handler.site.state
        self.shapes = handler.site.shapes

    def repository(self) -> Answer:
        push = self.state.may_write and self.handler.writer
        document = {
            "id": 1, "name": self.state.repository.split("/")[1], "full_name": self.state.repository,
            "archived": self.state.archived, "permissions": {"admin": False, "push": push, "pull": True},
        }  # fmt: skip
        return 200, document

    def list_releases(self) -> Answer:
        newest = sorted(self.state.releases.values(), key=lambda r: -r.id)
        late = {r.id for r in newest if r.hidden}
        for release in newest:
            release.hidden = max(0, release.hidden - 1)
        mine = self.state.may_write and self.handler.writer
        visible = [r for r in newest if r.id not in late and (not r.draft or mine)]
        return 200, self._page([self.shapes.release(r) for r in visible])

    def create(self) -> Answer:
        asked = self._json()
        tag = str(asked.get("tag_name", ""))
        if tag in self.state.burnt:
            return 422, error(
                422, "Validation Failed", {"resource": "Release", "code": "custom", "field": "tag_name",
                                           "message": "tag_name was used by an immutable release"},
            )  # fmt: skip
        taken = any(r.tag == tag and not r.draft for r in self.state.releases.values())
        if not tag or (taken and not asked.get("draft")):
            code = "already_exists" if tag else "missing_field"
            return 422, error(422, "Validation Failed", {"resource": "Release", "code": code, "field": "tag_name"})
        release = self.state.add_release(
            tag, draft=bool(asked.get("draft")), target=str(asked.get("target_commitish") or "main"),
            title=asked.get("name") or tag, body=asked.get("body") or "", prerelease=bool(asked.get("prerelease")),
        )  # fmt: skip
        return 201, self.shapes.release(release)

    def by_tag(self, tag: str) -> Answer:
        for release in self.state.releases.values():
            if release.tag == tag and not release.draft:
                return 200, self.shapes.release(release)
        return NOT_FOUND

    def release(self, release: str) -> Answer:
        found = self._release(release)
        return (200, self.shapes.release(found)) if found else NOT_FOUND

    def update(self, release: str) -> Answer:
        found, asked = self._release(release), self._json()
        if not found:
            return NOT_FOUND
        found.body = asked.get("body", found.body)
        found.title = asked.get("name", found.title)
        found.target = asked.get("target_commitish", found.target)
        if found.draft and asked.get("draft") is False:
            self.state.publish(found)
        return 200, self.shapes.release(found)

    def delete_release(self, release: str) -> Answer:
        return (204, None) if self.state.releases.pop(int(release), None) else NOT_FOUND

    def assets(self, release: str) -> Answer:
        found = self._release(release)
        if not found:
            return NOT_FOUND
        shown = []
        for asset in found.assets.values():
            if asset.hidden:
                asset.hidden -= 1
            else:
                shown.append(self.shapes.asset(asset, found))
                if asset.settling:
                    asset.settling -= 1
                    asset.state = asset.state if asset.settling else UPLOADED
        return 200, self._page(shown)

    def asset(self, asset: str) -> Answer:
        found = self.state.asset_of(int(asset))
        if not found:
            return NOT_FOUND
        if "octet-stream" not in self.handler.headers.get("accept", ""):
            return 200, self.shapes.asset(found[1], found[0])
        if found[1].state != UPLOADED:
            return NOT_FOUND
        self.handler.more["location"] = f"{self.site.storage_url}/blob/asset/{asset}"
        return 302, None

    def rename(self, asset: str) -> Answer:
        found, name = self.state.asset_of(int(asset)), normalise(str(self._json().get("name", "")))
        if not found:
            return NOT_FOUND
        release, one = found
        if release.immutable:
            return 422, error(422, "Cannot update an asset of an immutable release.")
        if any(other.name == name and other is not one for other in release.assets.values()):
            taken = {"resource": "ReleaseAsset", "code": "already_exists", "field": "name"}
            return 422, error(422, "Validation Failed", taken)
        one.name = name
        return 200, self.shapes.asset(one, release)

    def delete_asset(self, asset: str) -> Answer:
        found = self.state.asset_of(int(asset))
        if not found:
            return NOT_FOUND
        if found[0].immutable:
            return 422, error(422, "Cannot delete asset from an immutable release")
        del found[0].assets[int(asset)]
        return 204, None

    def immutable(self) -> Answer:
        return 200, {"enabled": self.state.immutable, "enforced_by_owner": False}

    def ref(self, tag: str) -> Answer:
        if tag not in self.state.tags:
            return NOT_FOUND
        sha = self.state.tags[tag]
        thing = {"type": "commit", "sha": sha, "url": f"{self.shapes.api}/git/commits/{sha}"}
        name = f"refs/tags/{tag}"
        return 200, {"ref": name, "node_id": "REF_1", "url": f"{self.shapes.api}/git/{name}", "object": thing}

    def delete_tag(self, tag: str) -> Answer:
        if self.state.tags.pop(tag, None):
            return 204, None
        return 422, error(422, "Reference does not exist")

    def artifacts(self, run: str) -> Answer:
        rows = [self.shapes.artifact(a) for a in self.state.artifacts.values() if a.run == int(run)]
        return 200, {"total_count": len(rows), "artifacts": self._page(rows)}

    def run(self, run: str) -> Answer:
        commit = self.state.runs.get(int(run))
        return (200, {"id": int(run), "name": "Release", "head_sha": commit}) if commit else NOT_FOUND

    def artifact(self, artifact: str) -> Answer:
        found = self.state.artifacts.get(int(artifact))
        if not found:
            return NOT_FOUND
        if found.expired:
            return 410, error(410, "Artifact has expired")
        self.handler.more["location"] = f"{self.site.storage_url}/blob/artifact/{artifact}"
        return 302, None

    def _release(self, release: str) -> Release | None:
        return self.state.releases.get(int(release))

    def _json(self) -> dict[str, Any]:
        try:
            asked = json.loads(self.handler.small_body)
        except ValueError:
            return {}
        return asked if isinstance(asked, dict) else {}

    def _page(self, rows: Sequence[Any]) -> list[Any]:
        """One page, with the links to its neighbours."""
        query = self.handler.query
        size = max(1, min(int(query.get("per_page", "30")), 100))
        page = max(1, int(query.get("page", "1")))
        last = max(1, -(-len(rows) // size))
        if page < last:
            base = f"{self.site.api_url}{self.handler.route}?per_page={size}"
            self.handler.more["link"] = f'<{base}&page={page + 1}>; rel="next", <{base}&page={last}>; rel="last"'
        return list(rows[(page - 1) * size : page * size])
