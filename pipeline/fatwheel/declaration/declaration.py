"""A valid matrix.yaml with its path and version."""

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
    """A valid matrix.yaml. ``version`` is the public version of all its packages."""

    path: Path
    document: Document
    source: Source
    version: str

    @property
    def root(self) -> Path:
        """The folder of the file, which relative paths start from."""
        return self.path.parent

    @property
    def packages(self) -> list[Package]:
        """The packages, in the order of publishing."""
        return self.document.packages

    @property
    def channels(self) -> dict[ChannelName, Channel]:
        """The declared channels, by name."""
        return self.document.channels.declared

    def find_channel(self, name: str) -> Channel | None:
        """Return the channel of this name, or None if it is not declared."""
        return next((channel for known, channel in self.channels.items() if known == name), None)

    def channel(self, name: str) -> Channel:
        """Return the channel of this name. Raises `UsageError` if it is not declared."""
        if found := self.find_channel(name):
            return found
        raise UsageError(f"channel '{name}' is not declared", help=f"declared: {', '.join(self.channels)}")

    def package(self, name: str) -> Package:
        """The package of a distribution name, including provider wheels and templates. Raises `UsageError`."""
        for package in self.packages:
            if _makes(package, name):
                return package
        raise UsageError(
            f"no package '{name}' in {self.path.name}", help=f"declared: {', '.join(p.name for p in self.packages)}"
        )


def _makes(package: Package, name: str) -> bool:
    """Whether a package makes a distribution: ``x-{cuda}`` makes ``x-cu13``, the provider ``x`` makes ``x-sm90a``."""
    pattern = re.sub(r"\\\{[a-z_]+\\\}", "[a-z0-9_.]+", re.escape(package.name))
    tail = "-sm[0-9]+[af]?" if package.layout == "provider" else ""
    return re.fullmatch(f"{pattern}({tail})?", name) is not None
