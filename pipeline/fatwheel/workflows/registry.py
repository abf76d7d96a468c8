"""Find the container images in matrix.yaml and resolve their tags to digests at the registry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fatwheel.declaration import Declaration
from fatwheel.errors import ReleaseRefused
from fatwheel.registries import DOCKER_HUB, registry_of
from fatwheel.stores.github.hosts import is_loopback

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
class DeclaredImage:
    """An image in matrix.yaml: its position (line and column from 1), text, name, tag and digest."""

    line: int
    column: int
    text: str
    name: str
    tag: str | None
    digest: str | None

    @property
    def reference(self) -> str:
        """Name and tag, to be resolved by the registry."""
        return f"{self.name}:{self.tag or 'latest'}"


def find_images(declaration: Declaration) -> Iterator[DeclaredImage]:
    """Find every image in matrix.yaml; the tag of an image with a digest is in the comment after it."""
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
            yield DeclaredImage(mark.line, mark.column + (mark.lead or 0), text, name, tag, digest or None)


def _split(image: str) -> tuple[str, str | None]:
    before, colon, last = image.rpartition(":")
    return (before, last) if colon and "/" not in last else (image, None)


def resolve_digest(image: DeclaredImage, client: httpx.Client) -> str:
    """Resolve an image's tag to its digest. Raises `ReleaseRefused` if the registry has none or cannot be reached."""
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
        raise ReleaseRefused(f"cannot reach {registry}: {error}", where=image.reference) from None
    digest = str(answer.headers.get("docker-content-digest", ""))
    if answer.status_code != httpx.codes.OK or not _DIGEST.fullmatch(digest):
        raise ReleaseRefused(
            f"the registry responded with {answer.status_code} and no digest", where=image.reference,
            help="check the image's name and tag; pin private images manually",
        )  # fmt: skip
    return digest


def _token(challenge: str, client: httpx.Client) -> str:
    """Request an anonymous token from the authentication server in the registry's challenge."""
    fields = dict(_CHALLENGE.findall(challenge))
    realm = fields.pop("realm", "")
    if not realm.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        return ""
    answer = client.get(realm, params={key: fields[key] for key in ("service", "scope") if key in fields})
    body: Any = answer.json() if answer.status_code == 200 else {}
    return str(body.get("token") or body.get("access_token") or "")


def pin_images(text: str, found: dict[DeclaredImage, str]) -> str:
    """Replace the tags of images in matrix.yaml with digests, and write each tag as a comment after its image."""
    lines = text.split("\n")
    for image, digest in sorted(found.items(), key=lambda item: (item[0].line, item[0].column), reverse=True):
        line, start = lines[image.line - 1], image.column - 1
        rest = line[start + len(image.text) :]
        alone = re.fullmatch(r"(['\"]?)\s*(#.*)?", rest)
        pinned = f"{image.name}@{digest}"
        if alone:
            lines[image.line - 1] = f"{line[:start]}{pinned}{alone[1]}  # {image.tag or 'latest'}"
        else:  # more values follow on this line, so a comment would end it
            lines[image.line - 1] = f"{line[:start]}{pinned}{rest}"
    return "\n".join(lines)
