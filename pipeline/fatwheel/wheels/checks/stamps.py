"""What a wheel says of itself besides METADATA: fatwheel.json, and files that repeat the version or the targets."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator

from packaging.utils import canonicalize_name
from packaging.version import Version

from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import STAMP
from fatwheel.records.verification import Finding
from fatwheel.targets import Capability, Target
from fatwheel.wheels.checks.code import Code, held_code, parsed, wanted_code
from fatwheel.wheels.checks.subject import Subject, error, text_of
from fatwheel.wheels.formats.names import architecture, version_of

_REMEDY = "let fatwheel write it, and build again"

# An assignment as Python, JSON, YAML or TOML write it: a key, then one string or a list of strings.
# A version with another word before it (cuda_version, Metadata-Version) is of something else.
_IS = r"""["']?\s*(?::\s*[A-Za-z][\w\[\], .|]*=|[:=])\s*"""  # also with a type: `version: str = "1.0"`
_OWN = r"(?<![\w-])(?:__version__|(?:full_|package_|pkg_)?version)"
VERSION_SAID = re.compile(rf"""(?i){_OWN}{_IS}["']?([0-9][^"'\s,;]*)""")
TARGETS_SAID = re.compile(rf"""(?i)(?:targets|arch_list|archs|sms){_IS}(\[[^\]]*\]|\([^)]*\)|["'][^"'\n]*["'])""")


def check_stamp(subject: Subject) -> Iterator[Finding]:
    """fatwheel.json against METADATA, the tags, the machine code and the cell."""
    member = f"{subject.folder}/{STAMP}"
    stamp = subject.stamp
    if stamp is None:
        if subject.folder and member in subject.archive.by_name and not subject.contents[member].fault:
            yield error("stamp-unreadable", "fatwheel.json is not a stamp of fatwheel's", _REMEDY, member)
        elif subject.folder and subject.expected.stamp:
            yield error("stamp-cell", "there is no fatwheel.json", "let fatwheel pack the wheel, or stamp it", member)
        return
    name = subject.metadata["Name"] if subject.metadata else None
    if name and canonicalize_name(stamp.distribution) != canonicalize_name(name):
        yield error("stamp-version", f"it says {stamp.distribution}, METADATA says {name}", _REMEDY, member)
    if subject.version is not None and version_of(stamp.version) != subject.version:
        yield error("stamp-version", f"it says {stamp.version}, METADATA says {subject.version}", _REMEDY, member)
    found = {cpu for cpu in map(architecture, subject.name.platforms) if cpu} if subject.name else set()
    if stamp.arch and found and found != {stamp.arch}:
        yield error("stamp-arch", f"it says {stamp.arch}, the tags {', '.join(sorted(found))}", _REMEDY, member)
    yield from _targets(subject, stamp, member)
    yield from _cell(subject.expected.stamp, stamp, member)


def _targets(subject: Subject, stamp: EmbeddedMetadata, member: str) -> Iterator[Finding]:
    modules = subject.modules
    if stamp.placeholder and modules:
        what = f"it says that this is a placeholder, but there is machine code ({modules[0].member.name})"
        yield error("stamp-targets", what, _REMEDY, member)
    if not modules or any(one.fault for one in subject.contents.values()):
        return
    held, wanted = set(held_code(modules)), wanted_code(stamp.targets)
    absent: set[Code] = wanted - held if stamp.slice is None else set()  # a slice need not hold all
    if subject.expected.targets is None or set(subject.expected.targets) != set(stamp.targets):
        for what, codes in (("but there is none", absent), ("which it does not say", held - wanted)):
            if codes:
                shown = ", ".join(map(_shown, sorted(codes)))
                start = "it says" if codes <= wanted else "the wheel holds"
                yield error(
                    "stamp-targets", f"{start} {shown}, {what}", "build it for the targets it is stamped with", member
                )


def _shown(code: Code) -> str:
    return f"{code[1]} for {code[0]}"


def _cell(wanted: EmbeddedMetadata | None, stamp: EmbeddedMetadata, member: str) -> Iterator[Finding]:
    if wanted is None:
        return
    here, there = stamp.model_dump(), wanted.model_dump()
    for key in ("cuda", "toolkit", "arch", "family", "targets", "covers"):
        if here[key] != there[key]:
            yield error(
                "stamp-cell", f"{key} is {_said(here[key])}, the cell says {_said(there[key])}", _REMEDY, member
            )


def _said(value: list[Target] | list[Capability] | str | None) -> str:
    return " ".join(map(str, value)) or "empty" if isinstance(value, list) else str(value)


def check_stamp_files(subject: Subject) -> Iterator[Finding]:
    """Files that a declaration says repeat the version or the targets."""
    for pattern in subject.expected.stamp_files:
        members = [name for name in subject.archive.by_name if fnmatch.fnmatchcase(name, pattern)]
        if not members:
            yield error(
                "stamp-stale", "there is no such file", "have the build write it, or take it off `stamp`", pattern
            )
        for member in sorted(members):
            yield from _file(subject, member)


def _file(subject: Subject, member: str) -> Iterator[Finding]:
    data = text_of(subject.archive, member)
    if data is None:
        return
    text = data.decode("utf-8", "replace")
    wanted = Version(subject.expected.version) if subject.expected.version else subject.version
    bare = version_of(text.strip())
    versions = [bare] if bare is not None else [v for v in map(version_of, VERSION_SAID.findall(text)) if v is not None]
    listed = [
        set(re.findall(r"[0-9][0-9a-zA-Z_.+-]*|(?:sm|compute)_?[0-9]+[af]?", found))
        for found in TARGETS_SAID.findall(text)
    ]
    if not versions and not listed:
        what = "neither a version nor a list of targets can be read in it"
        yield error("stamp-stale", what, 'write version = "..." or targets = [...] in it', member)
    for version in versions:
        if wanted is not None and version != wanted:
            yield error(
                "stamp-stale",
                f"it says version {version}, the wheel is {wanted}",
                "write it anew for each build",
                member,
            )
    targets = None if subject.expected.targets is None else set(subject.expected.targets)
    for tokens in listed:
        if targets is not None and tokens and parsed(tokens) != targets:
            asked = " ".join(map(str, sorted(targets)))
            what = f"it says targets {' '.join(sorted(tokens))}, the wheel is for {asked}"
            yield error("stamp-stale", what, "write it anew for each build", member)
