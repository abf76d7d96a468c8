"""Check the embedded metadata of a wheel, and the files that repeat its version or targets."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator

from packaging.utils import canonicalize_name
from packaging.version import Version

from fatwheel.errors import UsageError
from fatwheel.records.embedded import EmbeddedMetadata
from fatwheel.records.files import EMBEDDED
from fatwheel.records.verification import Finding
from fatwheel.targets import Capability, Target, dotted, parse_target
from fatwheel.wheels.checks.inspected import InspectedWheel, error, read_small_member
from fatwheel.wheels.formats.texts import TARGETS_ASSIGNED, VERSION_ASSIGNED
from fatwheel.wheels.formats.wheel_name import parse_architecture, parse_version
from fatwheel.wheels.reading.device_code import Code, expand_targets, sum_code_bytes

_HELP = "let fatwheel write fatwheel.json, and build again"
_TOKEN = re.compile(r"[0-9][0-9a-zA-Z_.+-]*|(?:sm|compute)_?[0-9]+[af]?")


def check_embedded(wheel: InspectedWheel) -> Iterator[Finding]:
    """Compare fatwheel.json with METADATA, the tags, the machine code and the cell."""
    member = f"{wheel.folder}/{EMBEDDED}"
    embedded = wheel.embedded
    if embedded is None:
        if wheel.folder and member in wheel.archive.by_name and not wheel.contents[member].fault:
            yield error("stamp-unreadable", "invalid fatwheel.json", _HELP, member)
        elif wheel.folder and wheel.expected.embedded:
            yield error("stamp-cell", "fatwheel.json not found", "build the wheel with fatwheel", member)
        return
    name = wheel.metadata["Name"] if wheel.metadata else None
    if name and canonicalize_name(embedded.distribution) != canonicalize_name(name):
        what = f"the distribution is {embedded.distribution}, but in METADATA it is {name}"
        yield error("stamp-version", what, _HELP, member)
    if wheel.version is not None and parse_version(embedded.version) != wheel.version:
        what = f"the version is {embedded.version}, but in METADATA it is {wheel.version}"
        yield error("stamp-version", what, _HELP, member)
    tagged = {cpu for cpu in map(parse_architecture, wheel.name.platforms) if cpu} if wheel.name else set()
    if embedded.arch and tagged and tagged != {embedded.arch}:
        what = f"the CPU architecture is {embedded.arch}, but the tags are for {', '.join(sorted(tagged))}"
        yield error("stamp-arch", what, _HELP, member)
    yield from _check_targets(wheel, embedded, member)
    yield from _compare_with_cell(wheel.expected.embedded, embedded, member)


def _check_targets(wheel: InspectedWheel, embedded: EmbeddedMetadata, member: str) -> Iterator[Finding]:
    modules = wheel.modules
    if embedded.placeholder and modules:
        what = f"the wheel is marked as a placeholder, but {modules[0].member.name} contains machine code"
        yield error("stamp-targets", what, _HELP, member)
    if not modules or any(one.fault for one in wheel.contents.values()):
        return
    found, declared = set(sum_code_bytes(modules)), expand_targets(embedded.targets)
    missing: set[Code] = declared - found if embedded.slice is None else set()  # a partial wheel may miss targets
    if wheel.expected.targets is None or set(wheel.expected.targets) != set(embedded.targets):
        for codes, what in (
            (missing, "the wheel contains no {}, which fatwheel.json declares"),
            (found - declared, "the wheel contains {}, which fatwheel.json does not declare"),
        ):
            if codes:
                listed = ", ".join(f"{kind} for {target}" for target, kind in sorted(codes))
                yield error("stamp-targets", what.format(listed), "build the wheel for its declared targets", member)


def _compare_with_cell(expected: EmbeddedMetadata | None, found: EmbeddedMetadata, member: str) -> Iterator[Finding]:
    if expected is None:
        return
    here, there = found.model_dump(), expected.model_dump()
    for key in ("cuda", "toolkit", "arch", "family", "targets", "covers"):
        if here[key] != there[key]:
            what = f"{key} is {_to_text(here[key])}, but in the cell it is {_to_text(there[key])}"
            yield error("stamp-cell", what, _HELP, member)


def _to_text(value: list[Target] | list[Capability] | str | None) -> str:
    return dotted(value) or "empty" if isinstance(value, list) else str(value)


def check_stamp_files(wheel: InspectedWheel) -> Iterator[Finding]:
    """Compare the files that repeat the version or the targets (``stamp`` in matrix.yaml) with the wheel."""
    for pattern in wheel.expected.stamp_files:
        members = [name for name in wheel.archive.by_name if fnmatch.fnmatchcase(name, pattern)]
        if not members:
            help = "have the build write it, or remove it from `stamp`"
            yield error("stamp-stale", "file not found in the wheel", help, pattern)
        for member in sorted(members):
            yield from _check_file(wheel, member)


def _check_file(wheel: InspectedWheel, member: str) -> Iterator[Finding]:
    data = read_small_member(wheel.archive, member)
    if data is None:
        return
    text = data.decode("utf-8", "replace")
    expected = Version(wheel.expected.version) if wheel.expected.version else wheel.version
    bare = parse_version(text.strip())
    found = [bare] if bare is not None else map(parse_version, VERSION_ASSIGNED.findall(text))
    versions = [version for version in found if version is not None]
    lists = [set(_TOKEN.findall(listed)) for listed in TARGETS_ASSIGNED.findall(text)]
    help = "have each build write this file"
    if not versions and not lists:
        what = "it contains neither a version nor a list of targets"
        yield error("stamp-stale", what, 'write version = "..." or targets = [...] into it', member)
    for version in versions:
        if expected is not None and version != expected:
            what = f"the version in it is {version}, but that of the wheel is {expected}"
            yield error("stamp-stale", what, help, member)
    targets = None if wheel.expected.targets is None else set(wheel.expected.targets)
    for tokens in lists:
        if targets is not None and tokens and _parse_targets(tokens) != targets:
            declared = dotted(sorted(targets))
            what = f"the targets in it are {' '.join(sorted(tokens))}, but those of the wheel are {declared}"
            yield error("stamp-stale", what, help, member)


def _parse_targets(tokens: Iterable[str]) -> set[Target] | None:
    """Targets in any format; None if one of them is invalid."""
    try:
        return set(map(parse_target, tokens))
    except UsageError:
        return None
