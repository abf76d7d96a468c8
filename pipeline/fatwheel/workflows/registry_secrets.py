"""The secrets to log in to the registries of the declared container images."""

from __future__ import annotations

from fatwheel.declaration import Declaration
from fatwheel.plan import make_plan
from fatwheel.registries import registry_of


def registry_secrets(declaration: Declaration, channel: str) -> dict[str, str]:
    """Map the registries of a channel's images to their declared secrets; omit registries without one."""
    secrets = declaration.document.secrets
    images = [cell.image for cell in make_plan(declaration, channel).cells if cell.image]
    found = dict.fromkeys(sorted({registry_of(image) for image in images}))
    return {registry: secrets[registry] for registry in found if registry in secrets}
