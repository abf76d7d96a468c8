"""The result of verifying a wheel: all findings, each with a stable kind, a description and help."""

from __future__ import annotations

from typing import Literal

from fatwheel.records.base import Record

Severity = Literal["error", "warning"]

FindingKind = Literal[
    # The archive
    "archive-unreadable",  # not a zip file, truncated, or made to mislead
    "member-unreadable",  # it cannot be unpacked to its declared contents; a zip bomb
    "member-duplicate",  # two members with the same name
    "member-case",  # two names that differ only in case
    "member-outside",  # it would be written outside the install folder
    "member-special",  # a symbolic link or a device
    "member-name",  # a name that cannot be installed on every system
    # Names and metadata
    "wheel-name",  # the file name is invalid, or not the expected one
    "dist-info",  # none, several, or one with another name or version
    "metadata-missing",
    "metadata-name",
    "metadata-version",
    "metadata-invalid",
    "wheel-file",  # WHEEL is missing or unreadable
    "wheel-tags",  # WHEEL and the file name differ
    "license-missing",
    # RECORD
    "record-missing",
    "record-unreadable",
    "record-line",  # a line without a digest that can be checked
    "record-absent",  # listed, but missing
    "record-unlisted",  # present, but not listed
    "record-hash",
    "record-size",
    # Binaries
    "platform-any",  # a platform-independent tag on machine code
    "purelib",
    "elf-unreadable",
    "elf-machine",
    "glibc-floor",
    "libstdcxx-floor",
    "glibc-private",
    "rpath-absolute",
    "rpath-outside",
    "driver-bundled",
    # Device code
    "fat-binary-unreadable",
    "target-missing",
    "target-stray",
    "module-missing",
    "module-unexpected",
    "module-target-missing",
    "module-target-stray",
    # Embedded metadata, files that repeat version or targets, and the build record
    "stamp-unreadable",
    "stamp-version",
    "stamp-arch",
    "stamp-targets",
    "stamp-cell",
    "stamp-stale",
    "digest",
    # The cell it belongs to
    "cell",  # the wheel of another cell
]


class Finding(Record):
    """One error or warning. ``member`` is the file in the wheel; null for the wheel as a whole."""

    kind: FindingKind
    severity: Severity
    member: str | None
    what: str
    help: str


class Verification(Record):
    """All findings on one wheel: errors first, then by kind and member."""

    wheel: str
    bytes: int
    cell: str | None = None  # ID of the cell it was compared with
    placeholder: bool = False
    findings: list[Finding] = []

    @property
    def errors(self) -> list[Finding]:
        """Findings that forbid a release."""
        return [finding for finding in self.findings if finding.severity == "error"]

    @property
    def valid(self) -> bool:
        """Whether it has no errors; warnings are allowed."""
        return not self.errors
