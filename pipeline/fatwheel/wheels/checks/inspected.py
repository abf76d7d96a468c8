"""A wheel as the checks see it, read once, and the diagnostics that they report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message

from packaging.version import Version

from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.verification import Finding, FindingKind
from fatwheel.wheels.checks.expected import Expected
from fatwheel.wheels.formats.metadata import read_headers
from fatwheel.wheels.formats.wheel_name import WheelName, parse_version
from fatwheel.wheels.io.byte_sources import Malformed
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.contents import Contents
from fatwheel.wheels.reading.read_embedded import read_embedded


@dataclass(frozen=True)
class InspectedWheel:
    """One wheel and what is expected of it.

    ``name`` is None if the file name is invalid, ``folder`` (dist-info) unless there is exactly one, ``metadata`` and
    ``embedded`` if missing or unreadable. ``contents`` is by member name.
    """

    archive: Archive
    name: WheelName | None
    folder: str | None
    contents: Mapping[str, Contents]
    metadata: Message | None
    embedded: EmbeddedMetadata | None
    expected: Expected

    @property
    def placeholder(self) -> bool:
        """Whether it is marked as a placeholder and contains no code."""
        return self.embedded is not None and self.embedded.placeholder and not self.modules

    @property
    def modules(self) -> list[Contents]:
        """Libraries and programs, and other files with device code."""
        return [one for one in self.contents.values() if one.is_module]

    @property
    def version(self) -> Version | None:
        """The version in METADATA; None if missing or invalid."""
        return parse_version(self.metadata["Version"]) if self.metadata and self.metadata["Version"] else None

    def info(self, file: str) -> bytes | None:
        """A file of the dist-info folder; None if missing or unreadable."""
        return read_small_member(self.archive, f"{self.folder}/{file}") if self.folder else None


Check = Callable[[InspectedWheel], Iterator[Finding]]


def inspect_wheel(
    archive: Archive, name: WheelName | None, contents: list[Contents], expected: Expected
) -> InspectedWheel:
    """Read what all checks need."""
    folder = archive.dist_infos[0] if len(archive.dist_infos) == 1 else None
    metadata = read_small_member(archive, f"{folder}/METADATA") if folder else None
    return InspectedWheel(
        archive=archive,
        name=name,
        folder=folder,
        contents={one.member.name: one for one in contents},
        metadata=None if metadata is None else read_headers(metadata),
        embedded=read_embedded(archive, invalid="ignore") if folder else None,
        expected=expected,
    )


def read_small_member(archive: Archive, name: str) -> bytes | None:
    """A small member; None if missing or unreadable, which another check reports."""
    member = archive.by_name.get(name)
    try:
        return archive.read(member) if member else None
    except Malformed:
        return None


def error(kind: FindingKind, what: str, help: str, member: str | None = None) -> Finding:
    """A diagnostic that forbids a release."""
    return Finding(kind=kind, severity="error", member=member, what=what, help=help)


def warning(kind: FindingKind, what: str, help: str, member: str | None = None) -> Finding:
    """A diagnostic that a person should look at."""
    return Finding(kind=kind, severity="warning", member=member, what=what, help=help)
