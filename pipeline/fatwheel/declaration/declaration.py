"""A checked declaration: the document, its file, and its version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from fatwheel.declaration.model import Channel, Document, Package
from fatwheel.declaration.source import Source
from fatwheel.errors import UsageError
from fatwheel.vocabulary import ChannelName


@dataclass(frozen=True)
class Declaration:
    """A matrix.yaml that holds together. ``path`` is the file; ``version`` the set's public version."""

    path: Path
    document: Document
    source: Source
    version: str

    @property
    def root(self) -> Path:
        """The folder that relative paths start from."""
        return self.path.parent

    @property
    def packages(self) -> list[Package]:
        """The set, in the order of publishing."""
        return self.document.packages

    @property
    def channels(self) -> dict[ChannelName, Channel]:
        """The declared channels, by name."""
        return self.document.channels.declared

    def package(self, name: str) -> Package:
        """The package that a distribution name belongs to, a provider's or a templated one too. Raises `UsageError`."""
        for package in self.packages:
            if _names(package, name):
                return package
        raise UsageError(
            f"no package '{name}' in {self.path.name}", help=f"there are: {', '.join(p.name for p in self.packages)}"
        )


def _names(package: Package, name: str) -> bool:
    """Whether a distribution is of this package: ``x-cu13`` of ``x-{cuda}``, ``x-sm90a`` of the provider ``x``."""
    pattern = re.sub(r"\\\{[a-z_]+\\\}", "[a-z0-9_.]+", re.escape(package.name))
    tail = "-sm[0-9]+[af]?" if package.layout == "provider" else ""
    return re.fullmatch(f"{pattern}({tail})?", name) is not None
