"""The wheel that checks look at, read once, and how a check says what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message

from packaging.version import Version
from pydantic import ValidationError

from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import STAMP
from fatwheel.records.verification import Finding, FindingKind
from fatwheel.wheels.checks.expected import Expected
from fatwheel.wheels.formats.metadata import read_headers
from fatwheel.wheels.formats.names import WheelName, version_of
from fatwheel.wheels.io.sources import Malformed
from fatwheel.wheels.reading.archive import Archive
from fatwheel.wheels.reading.contents import Contents


@dataclass(frozen=True)
class Subject:
    """One wheel. ``name`` is None when the file name is no wheel's, ``folder`` unless there is one dist-info folder."""

    archive: Archive
    name: WheelName | None
    folder: str | None
    contents: Mapping[str, Contents]
    metadata: Message | None
    stamp: EmbeddedMetadata | None
    expected: Expected

    @property
    def placeholder(self) -> bool:
        """Whether it says that there is no code in it, and that is so."""
        return self.stamp is not None and self.stamp.placeholder and not self.modules

    @property
    def modules(self) -> list[Contents]:
        """Libraries and programs, and what else holds device code."""
        return [one for one in self.contents.values() if one.is_module]

    @property
    def version(self) -> Version | None:
        """The version in METADATA, or None if there is none that can be read."""
        return version_of(self.metadata["Version"]) if self.metadata and self.metadata["Version"] else None

    def info(self, file: str) -> bytes | None:
        """A file of the dist-info folder; None if it is not there or cannot be read."""
        return text_of(self.archive, f"{self.folder}/{file}") if self.folder else None


Check = Callable[[Subject], Iterator[Finding]]


def subject_of(archive: Archive, name: WheelName | None, contents: list[Contents], expected: Expected) -> Subject:
    """Read what all checks need."""
    folder = archive.dist_infos[0] if len(archive.dist_infos) == 1 else None
    metadata = text_of(archive, f"{folder}/METADATA") if folder else None
    stamp = text_of(archive, f"{folder}/{STAMP}") if folder else None
    return Subject(
        archive=archive,
        name=name,
        folder=folder,
        contents={one.member.name: one for one in contents},
        metadata=None if metadata is None else read_headers(metadata),
        stamp=None if stamp is None else _stamp(stamp),
        expected=expected,
    )


def text_of(archive: Archive, name: str) -> bytes | None:
    """A small member; None if it is not there or cannot be read, which is another check's finding."""
    member = archive.by_name.get(name)
    try:
        return archive.read(member) if member else None
    except Malformed:
        return None


def _stamp(data: bytes) -> EmbeddedMetadata | None:
    try:
        return EmbeddedMetadata.model_validate_json(data)
    except ValidationError:
        return None


def error(kind: FindingKind, what: str, help: str, member: str | None = None) -> Finding:
    """What forbids a release."""
    return Finding(kind=kind, severity="error", member=member, what=what, help=help)


def warning(kind: FindingKind, what: str, help: str, member: str | None = None) -> Finding:
    """What a person should look at."""
    return Finding(kind=kind, severity="warning", member=member, what=what, help=help)
