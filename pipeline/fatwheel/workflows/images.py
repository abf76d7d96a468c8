"""Container images of a declaration: where each is written, and which registries ask for a login."""

from __future__ import annotations

from fatwheel.declaration import Declaration
from fatwheel.plan import make_plan

DOCKER_HUB = "docker.io"


def registry_of(image: str) -> str:
    """The registry that an image's name means: ``ghcr.io``; Docker Hub where it names none."""
    first, slash, _ = image.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else DOCKER_HUB


def registries(declaration: Declaration, channel: str) -> dict[str, str]:
    """The registries of a channel's images that a secret is declared for, with its name."""
    secrets = declaration.document.secrets
    images = [cell.image for cell in make_plan(declaration, channel).cells if cell.image]
    found = dict.fromkeys(sorted({registry_of(image) for image in images}))
    return {registry: secrets[registry] for registry in found if registry in secrets}
