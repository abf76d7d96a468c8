"""Cuts the fake's part out of GitHub's OpenAPI description, as the npm package @octokit/openapi has it (MIT).

``python -m tests.fake_github.slice_openapi PACKAGE/generated/api.github.com.json`` writes openapi.json beside it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

RELEASES = "/repos/{owner}/{repo}/releases"
WANTED = {
    "/repos/{owner}/{repo}/releases": ("get", "post"),
    f"{RELEASES}/tags/{{tag}}": ("get",),
    f"{RELEASES}/{{release_id}}": ("get", "patch", "delete"),
    f"{RELEASES}/{{release_id}}/assets": ("get", "post"),
    f"{RELEASES}/assets/{{asset_id}}": ("get", "patch", "delete"),
    "/repos/{owner}/{repo}/immutable-releases": ("get",),
    "/repos/{owner}/{repo}/actions/runs/{run_id}/artifacts": ("get",),
    "/repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}": ("get",),
}
TALK = {"description", "example", "examples", "externalDocs", "x-github", "x-octokit", "servers", "tags", "summary"}
PLACE = Path(__file__).with_name("openapi.json")


def bare(value: Any, *, names: bool = False) -> Any:
    """Without what is only talk. ``names``: the keys are names of properties, not words of the description."""
    if isinstance(value, list):
        return [bare(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: "" if key == "description" and not names else bare(item, names=key in {"properties", "schemas"})
        for key, item in value.items()
        if names or key not in TALK or key == "description"
    }


def references(value: Any) -> set[str]:
    """All components that a part of the description refers to."""
    if isinstance(value, list):
        return {name for item in value for name in references(item)}
    if not isinstance(value, dict):
        return set()
    own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
    return own | {name for item in value.values() for name in references(item)}


def cut(whole: dict[str, Any]) -> dict[str, Any]:
    """The slice: the wanted operations with all that they refer to."""
    paths = {path: {verb: bare(whole["paths"][path][verb]) for verb in verbs} for path, verbs in WANTED.items()}
    components: dict[str, dict[str, Any]] = {}
    left = references(paths)
    while left:
        _, _, kind, name = left.pop().split("/", 3)
        if name not in components.setdefault(kind, {}):
            components[kind][name] = bare(whole["components"][kind][name])
            left |= references(components[kind][name])
    info = {"title": "A slice of GitHub's REST API", "version": whole["info"]["version"], "license": {"name": "MIT"}}
    return {"openapi": whole["openapi"], "info": info, "paths": paths, "components": components}


if __name__ == "__main__":
    PLACE.write_text(
        json.dumps(cut(json.loads(Path(sys.argv[1]).read_text())), sort_keys=True, separators=(",", ":")) + "\n"
    )
