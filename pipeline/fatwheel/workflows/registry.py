"""What a tag of a container image means just now: its digest, as the registry says it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fatwheel.declaration import Declaration
from fatwheel.errors import ReleaseRefused
from fatwheel.stores.github.hosts import is_loopback
from fatwheel.workflows.images import DOCKER_HUB, registry_of

if TYPE_CHECKING:
    import httpx

_INDEXES = (
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
_SECONDS = 30.0


@dataclass(frozen=True)
class Written:
    """An image as matrix.yaml has it: where its text is (line and column from 1), its name, tag and digest."""

    line: int
    column: int
    text: str
    name: str
    tag: str | None
    digest: str | None

    @property
    def asked(self) -> str:
        """Name and tag, which a registry is asked for."""
        return f"{self.name}:{self.tag or 'latest'}"


def written_images(declaration: Declaration) -> Iterator[Written]:
    """Every image of the declaration; the tag of one with a digest is the comment behind it."""
    lines = declaration.path.read_text(encoding="utf-8").split("\n")
    for label, cuda in declaration.document.cuda.items():
        for arch in cuda.image:
            mark = declaration.source.mark(("cuda", label, "image", arch))
            text = str(mark.text).strip("'\"")
            bare, _, digest = text.partition("@")
            name, tag = _split(bare)
            comment = re.search(r"#\s*([\w][\w.-]{0,127})\s*$", lines[mark.line - 1])
            if digest and tag is None and comment:
                tag = comment[1]
            yield Written(mark.line, mark.column + (mark.lead or 0), text, name, tag, digest or None)


def _split(image: str) -> tuple[str, str | None]:
    before, colon, last = image.rpartition(":")
    return (before, last) if colon and "/" not in last else (image, None)


def digest_of(image: Written, client: httpx.Client) -> str:
    """The digest of a tag. Raises `ReleaseRefused` with what the registry answered."""
    import httpx

    registry = registry_of(image.name)
    path = image.name.removeprefix(f"{registry}/")
    if registry == DOCKER_HUB:
        registry, path = "registry-1.docker.io", path if "/" in path else f"library/{path}"
    scheme = "http" if is_loopback(registry.partition(":")[0]) else "https"
    url = f"{scheme}://{registry}/v2/{path}/manifests/{image.tag or 'latest'}"
    try:
        answer = client.head(url, headers={"Accept": _INDEXES})
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            token = _token(answer.headers.get("www-authenticate", ""), client)
            answer = client.head(url, headers={"Accept": _INDEXES, "Authorization": f"Bearer {token}"})
    except httpx.HTTPError as error:
        raise ReleaseRefused(f"{registry} cannot be reached: {error}", where=image.asked) from None
    digest = str(answer.headers.get("docker-content-digest", ""))
    if answer.status_code != httpx.codes.OK or not _DIGEST.fullmatch(digest):
        raise ReleaseRefused(
            f"the registry answered {answer.status_code} and no digest", where=image.asked,
            help="check the image's name and tag; a private one has to be pinned by hand",
        )  # fmt: skip
    return digest


def _token(challenge: str, client: httpx.Client) -> str:
    """The token that a registry gives to anybody, from where its challenge says."""
    asked = dict(_CHALLENGE.findall(challenge))
    realm = asked.pop("realm", "")
    if not realm.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        return ""
    answer = client.get(realm, params={key: asked[key] for key in ("service", "scope") if key in asked})
    held: Any = answer.json() if answer.status_code == 200 else {}
    return str(held.get("token") or held.get("access_token") or "")


def filled(text: str, found: dict[Written, str]) -> str:
    """matrix.yaml with digests in the place of tags, and each tag as a comment behind it; all else as it was."""
    lines = text.split("\n")
    for image, digest in sorted(found.items(), key=lambda item: (item[0].line, item[0].column), reverse=True):
        line, start = lines[image.line - 1], image.column - 1
        rest = line[start + len(image.text) :]
        alone = re.fullmatch(r"(['\"]?)\s*(#.*)?", rest)
        pinned = f"{image.name}@{digest}"
        if alone:
            lines[image.line - 1] = f"{line[:start]}{pinned}{alone[1]}  # {image.tag or 'latest'}"
        else:  # others stand on this line: there is no room for a comment
            lines[image.line - 1] = f"{line[:start]}{pinned}{rest}"
    return "\n".join(lines)
