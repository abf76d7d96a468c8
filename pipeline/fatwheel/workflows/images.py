"""Registries of the declared container images, and the secrets to log in to them."""

from __future__ import annotations

from fatwheel.declaration import Declaration
from fatwheel.plan import make_plan

DOCKER_HUB = "docker.io"


def registry_of(image: str) -> str:
    """The registry of an image: ``ghcr.io``; Docker Hub if the name contains none."""
    first, slash, _ = image.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else DOCKER_HUB


def registry_secrets(declaration: Declaration, channel: str) -> dict[str, str]:
    """Map the registries of a channel's images to their declared secrets; omit registries without one."""
    secrets = declaration.document.secrets
    images = [cell.image for cell in make_plan(declaration, channel).cells if cell.image]
    found = dict.fromkeys(sorted({registry_of(image) for image in images}))
    return {registry: secrets[registry] for registry in found if registry in secrets}
