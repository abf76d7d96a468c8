"""Container registries: the one that an image name refers to."""

from __future__ import annotations

DOCKER_HUB = "docker.io"


def registry_of(image: str) -> str:
    """Return the registry of an image name: its first part if that is a host, else Docker Hub."""
    first, slash, _ = image.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else DOCKER_HUB
